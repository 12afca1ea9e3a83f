"""The field `race` of a manifest: which state machines work on one call, and how many of them must succeed."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from stepwire.catalog.manifest_input import ContextFields, InputFields, MemberName, offered_names
from stepwire.json_text import JsonObject, write
from stepwire.tasks.races import LARGEST_CONSTANTS, MOST_ARMS

LONGEST_HEAD_START: Final = timedelta(days=1)
NAME_PATTERN: Final = r"^[A-Za-z0-9_-]{1,32}$"
ROLE_PATTERN: Final = r"^arn:[a-z-]+:iam::[0-9]{12}:role/[A-Za-z0-9_+=,.@/-]+$"
_MILLISECOND: Final = timedelta(milliseconds=1)


class ArmFields(BaseModel):
    """One of the state machines that race."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=NAME_PATTERN)
    state_machine: str | None = Field(default=None, min_length=1)
    role: str | None = Field(default=None, pattern=ROLE_PATTERN, max_length=2048)
    constants: dict[MemberName, Any] = Field(default_factory=dict[str, Any])
    delay: timedelta = Field(default=timedelta(), ge=timedelta(), le=LONGEST_HEAD_START)


class RaceFields(BaseModel):
    """State machines that work on one call at the same time: enough successes decide it."""

    model_config = ConfigDict(extra="forbid")

    arms: list[ArmFields] = Field(min_length=2, max_length=MOST_ARMS)
    quorum: Annotated[int, Field(ge=1, le=MOST_ARMS, strict=True)] = 1
    slots: Literal["one", "each"] = "one"

    @model_validator(mode="after")
    def check_together(self) -> Self:
        """Check what no field can tell alone."""
        names = [arm.name for arm in self.arms]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"at arms: the name {twice!r} is given twice")
        if self.quorum > len(self.arms):
            raise ValueError(f"at quorum: must be at most {len(self.arms)}, the number of arms")
        at_once = sum(arm.delay == timedelta() for arm in self.arms)
        if at_once < self.quorum:
            raise ValueError(
                f"at arms: at least {self.quorum} must start at once, without delay: as many as the quorum"
            )
        if len(write([arm.constants for arm in self.arms]).encode()) > LARGEST_CONSTANTS:
            raise ValueError(f"at arms: the constants of all arms together are larger than {LARGEST_CONSTANTS} bytes")
        return self

    def compiled(self, state_machine: str | None, role: str | None) -> JsonObject:
        """Return the form that the function reads; times are milliseconds.

        Args:
            state_machine: the machine of arms that name none.
            role: its role.
        """
        return {
            "arms": [_compiled(arm, state_machine, role) for arm in self.arms],
            "quorum": self.quorum,
            **({"slots": len(self.arms)} if self.slots == "each" else {}),
        }


def race_faults(race: RaceFields | None, state_machine: str | None, role: str | None, ttl: timedelta) -> Iterator[str]:
    """Yield why the arms do not fit the rest of the manifest."""
    if race is None:
        if state_machine is None:
            yield "at state_machine: is missing"
        return
    unnamed = [arm for arm in race.arms if arm.state_machine is None]
    if not unnamed and (state_machine or role):
        yield "at state_machine: each arm names its own: leave it out, with its role"
    if role and not state_machine:
        yield "at role: there is no state_machine that it could run: an arm names its own role"
    for arm in unnamed:
        yield from _unnamed_faults(arm, state_machine)
    for arm in race.arms:
        if arm.delay >= ttl:
            yield f"at race.arms: the delay of {arm.name!r} must be shorter than ttl, after which nothing starts"


def _unnamed_faults(arm: ArmFields, state_machine: str | None) -> Iterator[str]:
    if state_machine is None:
        yield f"at race.arms: the arm {arm.name!r} names no state_machine, and neither does the tool"
    if arm.role is not None:
        yield f"at race.arms: the arm {arm.name!r} has a role without a state_machine of its own"


def constants_faults(
    race: RaceFields | None,
    input_schema: JsonObject,
    shape: InputFields | None,
    context: ContextFields | None,
    confirm_key: str | None,
) -> Iterator[str]:
    """Yield why the constants of an arm do not fit: a member is set by an arm, by the tool, or by the caller."""
    taken = dict.fromkeys(offered_names(input_schema), "a property of input_schema, which callers set")
    shape = shape or InputFields()
    taken |= dict.fromkeys((*shape.constants, *shape.defaults), "also a name in input")
    taken |= {context.input_key: "also the name in context.input_key"} if context else {}
    taken |= {confirm_key: "also the name in confirm.input_key"} if confirm_key else {}
    for arm in race.arms if race else ():
        for name in arm.constants:
            if name in taken:
                yield f"at race.arms: the constant {name!r} of {arm.name!r} is {taken[name]}: choose another name"


def _compiled(arm: ArmFields, state_machine: str | None, role: str | None) -> JsonObject:
    is_named = arm.state_machine is not None
    its_role = arm.role if is_named else role
    entry: dict[str, Any] = {"name": arm.name, "state_machine": arm.state_machine if is_named else state_machine}
    if its_role:
        entry["role"] = its_role
    if arm.constants:
        entry["constants"] = arm.constants
    if arm.delay:
        entry["delay_ms"] = arm.delay // _MILLISECOND
    return entry
