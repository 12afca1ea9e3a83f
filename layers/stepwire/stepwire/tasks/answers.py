"""Who answers a question, what they have answered, and when that closes the question. Pure.

The rule: every question has an audience, and the caller is an audience of one. Whom else a question is put to, and who
of them may answer, is the business of an extra, which the audience names; here is what every audience has. A person
answers a question once. It is closed once enough people agree, or as soon as one of them declines.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import Enum
from typing import Final, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from stepwire.codec import encode
from stepwire.json_text import Json, JsonObject, load_json

MOST_DECISIONS: Final = 10
"""The newest decisions of a task are kept with it."""
LARGEST_MATTERS: Final = 8_000
"""Bytes of the questions and answers that are kept with the decisions of a task; the newest has its own in any case."""


class Action(Enum):
    """The user's reaction to a question."""

    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"


class InputResponse(Struct, frozen=True, tag="response", omit_defaults=True):
    """An answer."""

    action: Action | None
    """The user's reaction; None: the answer is not a user's, but the client's (to sampling and roots)."""
    content: str | None = None
    """JSON text of an object: the fields of an accepted form, or the client's whole result."""

    def shown(self) -> JsonObject:
        """Return a user's answer as a workflow gets it: {"action": "accept" | ..., "content"?: {...}}."""
        shown: JsonObject = {} if self.action is None else {"action": self.action.value}
        return shown if self.content is None else {**shown, "content": load_json(self.content)}


class Unanswerable(Struct, frozen=True, tag="unanswerable", omit_defaults=True):
    """The client cannot ask its user, although it declared that it can."""


Answer: TypeAlias = InputResponse | Unanswerable


class Given(Struct, frozen=True, omit_defaults=True):
    """What one person has answered."""

    by: str
    """The digest that stands for the person, or for the link that was used."""
    at: datetime
    answer: Answer
    name: str = ""
    """What the person is called."""
    way: str = ""
    """How they have answered; empty: by the client that called."""

    @property
    def agrees(self) -> bool:
        """Tell whether it accepts what was asked, or is what the client was asked for."""
        return isinstance(self.answer, InputResponse) and self.answer.action in (Action.ACCEPT, None)

    @property
    def content(self) -> str | None:
        """JSON text of the form that the person has filled in."""
        return self.answer.content if isinstance(self.answer, InputResponse) else None

    def without_content(self) -> "Given":
        """Return it without the form."""
        return self if self.content is None else replace(self, answer=replace(self.answer, content=None))

    def shown(self) -> JsonObject:
        """Return what a workflow is told of it and of the person."""
        told: JsonObject = self.answer.shown() if isinstance(self.answer, InputResponse) else {}
        action, content = told.pop("action", None), told
        at = self.at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return {"action": action, "by": self.name, "person": self.by, "at": at, "way": self.way, **content}


class Audience(Struct, frozen=True, omit_defaults=True):
    """Who answers a question."""

    extra: str = ""
    """The extra that puts the question to them, and through which their answers come; empty: the caller alone."""
    name: str = ""
    """What the caller reads of them, such as `finance`."""
    needed: int = 1
    """How many of them must agree. One who declines closes the question, too."""
    excluded: str = ""
    """The digest of a person whose answer does not count: whoever asked."""
    apart: tuple[str, ...] = ()
    """Ways that do not count together with other ones: by such a way, one person may pass for another one."""
    shows_people: bool = False
    """Whether the caller sees who has answered."""
    own: JsonObject = field(default_factory=dict[str, Json])
    """The extra's own, which nobody else reads."""

    @property
    def is_caller(self) -> bool:
        """Tell whether it is the caller alone."""
        return not self.extra

    def counts(self, given: Given, before: Iterable[Given]) -> bool:
        """Tell whether an answer counts after the others: nobody answers twice, nor their own question."""
        if given.by in {self.excluded, *(one.by for one in before)}:
            return False
        is_apart = given.way in self.apart
        return not given.agrees or all((one.way in self.apart) is is_apart for one in before)

    def closes(self, answers: tuple[Given, ...]) -> bool:
        """Tell whether these answers, in order, close a question."""
        return bool(answers) and (not answers[-1].agrees or len(answers) >= self.needed)

    def waiting_text(self, answers: tuple[Given, ...], expires_at: datetime | None) -> str:
        """Say whom a question waits for, and how long."""
        left = self.needed - len(answers)
        count = "one" if left == 1 else str(left)
        until = "" if expires_at is None else f", until {expires_at:%A %Y-%m-%d %H:%M} UTC"
        return f"Waits for {count} of {self.name} to decide{until}."


CALLER: Final = Audience()
"""The caller, an audience of one."""


class Matter(Struct, frozen=True, omit_defaults=True):
    """A question that was decided, with its answer: for those who may answer it."""

    message: str
    schema: str
    """JSON text of the form that was asked for."""
    audience: Audience
    content: str | None = None
    """JSON text of what the last of those who agreed has filled in."""


class Decision(Struct, frozen=True, omit_defaults=True):
    """What others than the caller have decided of a question."""

    number: int
    """Sequence number of the question."""
    key: str
    audience: str
    """What its audience is called."""
    answers: tuple[Given, ...]
    """Without what the forms contained."""
    shows_people: bool = False
    """Whether the caller sees who has answered."""
    matter: Matter | None = None
    """None: its reader may not see it, or newer decisions need its room in the task."""

    @property
    def agrees(self) -> bool:
        """Tell whether they have agreed."""
        return self.answers[-1].agrees

    def text(self, *, with_names: bool = False) -> str:
        """Say what was decided and, if they may be named, by whom."""
        verb = "approved" if self.agrees else "refused"
        names = " and ".join(one.name for one in self.answers if one.agrees is self.agrees)
        who = f"{names} of {self.audience}" if with_names or self.shows_people else self.audience
        return f"{who} {verb}, {self.answers[-1].at:%Y-%m-%d %H:%M} UTC."


def with_room(decisions: tuple[Decision, ...]) -> tuple[Decision, ...]:
    """Return the newest decisions that a task keeps, the newer ones with what was asked, as far as that has room."""
    kept, room = list[Decision](), LARGEST_MATTERS
    for one in reversed(decisions[-MOST_DECISIONS:]):
        room -= 0 if one.matter is None else len(encode(one.matter).encode())
        kept.append(one if room >= 0 or not kept else replace(one, matter=None))
    return tuple(reversed(kept))
