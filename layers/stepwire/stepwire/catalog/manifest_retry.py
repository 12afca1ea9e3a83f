"""The field `retry` of a manifest: which failures of a workflow are retried, how often, and when."""

from datetime import timedelta
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from stepwire.json_text import JsonObject
from stepwire.tasks.retries import ALL, MOST_ATTEMPTS

MOST_ERRORS: Final = 20
LARGEST_BACKOFF: Final = 10.0
LONGEST_DELAY: Final = timedelta(days=1)
_MILLISECOND: Final = timedelta(milliseconds=1)


class RetryFields(BaseModel):
    """When another attempt follows a failed one."""

    model_config = ConfigDict(extra="forbid")

    attempts: int = Field(ge=2, le=MOST_ATTEMPTS, strict=True)
    # What Step Functions takes for an error's name.
    errors: list[Annotated[str, Field(min_length=1, max_length=256)]] = Field(
        default_factory=lambda: [ALL], min_length=1, max_length=MOST_ERRORS
    )
    mode: Literal["restart", "redrive"] = "restart"
    fallback: Literal["restart", "none"] | None = None
    delay: timedelta = Field(default=timedelta(seconds=1), ge=timedelta(), le=LONGEST_DELAY)
    backoff: float = Field(default=2.0, ge=1.0, le=LARGEST_BACKOFF, strict=True)
    longest_delay: timedelta = Field(default=timedelta(hours=1), ge=timedelta(), le=LONGEST_DELAY)
    jitter: Literal["none", "full"] = "none"

    @model_validator(mode="after")
    def check_together(self) -> Self:
        """Check what no field can tell alone."""
        if self.fallback is not None and self.mode != "redrive":
            raise ValueError("at fallback: only mode: redrive can fall back; leave it out")
        if self.longest_delay < self.delay:
            raise ValueError("at longest_delay: must be at least delay")
        if len(self.errors) > 1 and ALL in self.errors:
            raise ValueError(f"at errors: {ALL} includes the others; write it alone")
        return self

    def compiled(self) -> JsonObject:
        """Return the form that the function reads; times are milliseconds."""
        compiled: dict[str, Any] = {
            "attempts": self.attempts,
            "errors": self.errors,
            "mode": self.mode,
            "fallback": self.fallback or "restart",
            "delay_ms": self.delay // _MILLISECOND,
            "backoff": self.backoff,
            "longest_delay_ms": self.longest_delay // _MILLISECOND,
            "jitter": self.jitter,
        }
        return compiled
