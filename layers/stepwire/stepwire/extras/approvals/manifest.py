"""The fields of a manifest that say who decides questions in place of the caller, and the policy that they describe."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Annotated, Any, Final, Self

from pydantic import Field, field_validator, model_validator

from stepwire.extras.approvals.audiences import (
    LONGEST_RECIPIENT,
    LONGEST_WAIT,
    MOST_RECIPIENTS,
    SHORTEST_REMINDER,
    VALUE_PATTERN,
    conditions_of,
    policy_faults,
)
from stepwire.extras.approvals.doubts import doubts
from stepwire.extras.approvals.rules import MOST_APPROVALS, MOST_VALUES, Approvers, Escalation, People
from stepwire.hooks import Doubt, ManifestFields
from stepwire.json_text import JsonObject
from stepwire.manifests.fields import KEY, Fields, MemberName, Role, Title
from stepwire.manifests.manifest import Manifest
from stepwire.principal import SCOPE_PATTERN
from stepwire.tasks.inputs import InvalidQuestion


class AudienceFields(Fields):
    """People who may decide a question: each of these fields that is given must hold."""

    scope: str | None = Field(default=None, pattern=SCOPE_PATTERN)
    """A scope of the access token, without the issuer's prefix."""
    claim: str | None = Field(default=None, min_length=1, max_length=200)
    """The name of a claim of the access token, with `has`."""
    has: list[Annotated[str, Field(pattern=VALUE_PATTERN)]] = Field(default_factory=list[str], max_length=MOST_VALUES)
    """The values of the claim, one of which suffices. A text is the short form of one."""
    role: Role | None = None
    """The ARN of the role that signs, with `Authorizer=iam`."""
    name: Title = Field(default="", max_length=100)
    """What others call them, such as `finance`. Without it: the value, the scope or the role."""

    @field_validator("has", mode="before")
    @classmethod
    def takes_a_text(cls, value: Any) -> Any:
        """Read the short form: one value."""
        return [value] if isinstance(value, str) else value

    @model_validator(mode="after")
    def check_conditions(self) -> Self:
        """Check that a claim has its values."""
        _ = self.audience
        return self

    @property
    def audience(self) -> People:
        """The audience."""
        try:
            return People(conditions_of(self.scope, self.claim, self.has, self.role), self.name)
        except InvalidQuestion as error:
            raise ValueError(str(error).removeprefix("at audience: ")) from None


class EscalateFields(AudienceFields):
    """A second audience, which may decide too once the first has not for some time."""

    after: timedelta = Field(ge=SHORTEST_REMINDER, le=LONGEST_WAIT)
    """How long after the question."""


class ApproversFields(AudienceFields):
    """Who decides questions of the workflow in place of the caller.

    Without a scope, a claim or a role, each of these questions must name its own audience.
    """

    questions: list[Annotated[str, Field(pattern=KEY)]] = Field(default_factory=list[str], max_length=20)
    """The keys of the questions that it is for. Without it: all."""
    approvals: int = Field(default=1, ge=1, le=MOST_APPROVALS, strict=True)
    """How many different people must approve. The first refusal decides, too."""
    include_caller: bool = False
    """Whether the caller may be one of them."""
    show: list[MemberName] | None = Field(default=None, max_length=20)
    """The arguments that approvers see. With it, events have the text of the question."""
    show_decision: bool = False
    """Whether the caller sees who has decided."""
    remind: timedelta | None = Field(default=None, ge=SHORTEST_REMINDER, le=LONGEST_WAIT)
    """How often an open question is announced again."""
    escalate: EscalateFields | None = None
    """Who may decide too once nobody has for some time."""
    recipients: list[Annotated[Title, Field(min_length=1, max_length=LONGEST_RECIPIENT)]] = Field(
        default_factory=list[str], max_length=MOST_RECIPIENTS
    )
    """The people who get a link of their own each, by name or address, where the endpoint makes links
    (`ApprovalLinks`). Without it, there is one link for all."""

    @model_validator(mode="after")
    def check_together(self) -> Self:
        """Check what no field can tell alone."""
        for fault in policy_faults(self.policy()):
            raise ValueError(fault)
        return self

    def policy(self) -> Approvers:
        """Return the policy of the tool."""
        return Approvers(
            self.audience,
            tuple(self.questions),
            self.approvals,
            self.include_caller,
            None if self.show is None else tuple(self.show),
            self.show_decision,
            self.remind,
            self.escalate and Escalation(self.escalate.after, self.escalate.audience),
            tuple(self.recipients),
        )


class ManifestWithApprovers(Manifest):
    """A manifest in which others than the caller may decide."""

    approvers: ApproversFields | None = None
    """Who decides questions of the workflow in place of the caller: [Approvals](extras/approvals.md)."""

    @model_validator(mode="after")
    def check_approvers(self) -> Self:
        """Check that approvers are shown arguments that there are, and that there are enough of them."""
        if self.approvers is None:
            return self
        properties = self.input_schema.get("properties", {})
        for name in self.approvers.show or ():
            if name not in properties:
                raise ValueError(f"at approvers.show: {name!r} is no property of input_schema")
        if 0 < len(self.approvers.recipients) < self.approvers.approvals:
            raise ValueError("at approvers.recipients: fewer people than approvals")
        return self


def _doubts(manifest: ManifestWithApprovers, definitions: Sequence[JsonObject]) -> Iterable[Doubt]:
    return () if manifest.approvers is None else doubts(manifest.approvers.questions, definitions)


FIELDS: Final = ManifestFields(
    model=ManifestWithApprovers,
    part=lambda manifest: manifest.approvers and manifest.approvers.policy(),
    need_task=("approvers",),
    shapes={
        VALUE_PATTERN: "1 to 200 characters without spaces and brackets, which look like two values in a token's claim"
    },
    doubts=_doubts,
)
