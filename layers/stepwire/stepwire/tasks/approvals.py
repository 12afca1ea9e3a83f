"""Questions that people other than the caller decide: who may, how many must, and what they have decided. Pure.

The rule: who decides is a *person* whose sign-in shows the qualities that the question's audience needs, or who has a
link made for them. Nobody decides a question of their own, unless the manifest and the question both allow it, and
nobody decides twice. The manifest's policy bounds a question's own: `narrowed` never lets in more people.
"""

import hashlib
from collections.abc import Container, Iterable
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from stepwire.codec import encode
from stepwire.json_text import load_json, write

MOST_APPROVALS: Final = 5
MOST_VALUES: Final = 10
"""Of one claim, each of which suffices."""
MOST_DECISIONS: Final = 10
"""The newest decisions of a task are kept with it."""
LARGEST_MATTERS: Final = 8_000
"""Bytes of the questions and answers that are kept with the decisions of a task; the newest has its own in any case."""
_ROLE: Final = ":role/"
_LONGEST_SHOWN: Final = 100  # characters


class HasScope(Struct, frozen=True, tag="scope"):
    """A scope of the access token."""

    scope: str
    """Without the prefix that the issuer puts before it."""


class HasClaim(Struct, frozen=True, tag="claim"):
    """A claim of the token that is, or lists, one of these values."""

    claim: str
    values: tuple[str, ...]


class HasRole(Struct, frozen=True, tag="role"):
    """A role of IAM that signs the request."""

    role: str
    """Its ARN without a path (`role_quality`)."""


Condition: TypeAlias = HasScope | HasClaim | HasRole


class Audience(Struct, frozen=True, omit_defaults=True):
    """The people who may decide a question."""

    conditions: tuple[Condition, ...] = ()
    """All must hold of each of them. Empty: nobody is admitted by a sign-in."""
    name: str = ""
    """What others call them, such as `finance`."""

    @property
    def shown(self) -> str:
        """What others call them; made of the last condition where the manifest has no name."""
        if self.name or not self.conditions:
            return self.name or "the approvers"
        match self.conditions[-1]:
            case HasScope(scope):
                words = f"those with {scope}"
            case HasClaim(_, values):
                words = " or ".join(values)
            case HasRole(role):
                words = role.rpartition("/")[2]
        return words[:_LONGEST_SHOWN]

    @property
    def digests(self) -> tuple[str, ...]:
        """Where an approver finds their questions: the digest of each quality that satisfies the last condition."""
        return tuple(digest_of(one) for one in _alternatives(self.conditions[-1])) if self.conditions else ()

    def admits(self, digests: Container[str]) -> bool:
        """Tell whether somebody is of it whose qualities have these digests."""
        needed = [[digest_of(quality) in digests for quality in _alternatives(one)] for one in self.conditions]
        return bool(needed) and all(map(any, needed))


class Escalation(Struct, frozen=True):
    """A second audience, which may decide too once the first has not for some time."""

    after: timedelta
    audience: Audience


class Approvers(Struct, frozen=True, omit_defaults=True):
    """A policy: who decides the questions of a workflow, and what they and the caller are shown."""

    audience: Audience = Audience()
    questions: tuple[str, ...] = ()
    """Keys of the questions that it is for; empty: all."""
    approvals: int = 1
    """How many people must approve. One refusal decides, too."""
    includes_caller: bool = False
    """Whether the caller may be one of them."""
    shown_arguments: tuple[str, ...] | None = None
    """The arguments of the call that approvers see. None: these, and the question's text, are in no event either."""
    shows_decision: bool = False
    """Whether the caller sees who has decided."""
    remind: timedelta | None = None
    """How often an open question is announced again."""
    escalation: Escalation | None = None
    recipients: tuple[str, ...] = ()
    """Names or addresses of the people who get a link each; without any, there is one link for all."""
    has_links: bool = True
    """Whether there may be links: none if the question has conditions of its own, because a link knows nobody."""

    @property
    def audiences(self) -> tuple[Audience, ...]:
        """Those who may decide, sooner or later."""
        return (self.audience, *((self.escalation.audience,) if self.escalation else ()))

    def is_for(self, key: str) -> bool:
        """Tell whether it is for the questions with this key."""
        return not self.questions or key in self.questions


class VoteWay(Enum):
    """How a person has decided."""

    TOOL = "tool"
    CARD = "card"
    LINK = "link"
    SIGN_IN = "sign-in"
    """On the page, after a sign-in."""
    CONSOLE = "console"


class Vote(Struct, frozen=True, omit_defaults=True):
    """What one person has decided."""

    by: str
    """The digest that stands for the person, or for the link that was used."""
    name: str
    """What the person is called."""
    is_approval: bool
    at: datetime
    way: VoteWay
    content: str | None = None
    """JSON text of the form that the person has filled in."""


class DecisionField(Struct, frozen=True):
    """A field of a form that nobody fills in, because the decision answers it (`decision_fields`)."""

    name: str
    approves: bool | str
    """Its value if the question is approved."""
    refuses: bool | str


class Approval(Struct, frozen=True, omit_defaults=True):
    """Makes a question one for people other than the caller."""

    policy: Approvers
    asked_at: datetime
    votes: tuple[Vote, ...] = ()
    reminders: int = 0
    """How often it was announced again."""
    is_escalated: bool = False
    """Whether it was announced to the second audience."""
    fields: tuple[DecisionField, ...] = ()
    """What the decision answers of the form."""

    def completed(self, vote: Vote) -> Vote:
        """Return a vote whose form has the fields that the decision answers."""
        if not self.fields:
            return vote
        decided = {one.name: one.approves if vote.is_approval else one.refuses for one in self.fields}
        return replace(vote, content=write({**load_json(vote.content or "{}"), **decided}))

    @property
    def shown(self) -> str:
        """What those are called to whom it was announced."""
        second = self.policy.escalation
        announced = (self.policy.audience, *((second.audience,) if second is not None and self.is_escalated else ()))
        return " or ".join(names_of(announced))

    def counts(self, vote: Vote) -> bool:
        """Tell whether a vote counts: nobody votes twice, and links and sign-ins do not approve a question together.

        Nobody can tell whether the one who has a link is the one who signs in.
        """
        if vote.by in {one.by for one in self.votes}:
            return False
        is_by_link = vote.way is VoteWay.LINK
        return not vote.is_approval or all((one.way is VoteWay.LINK) is is_by_link for one in self.votes)

    def audiences(self, at: datetime) -> tuple[Audience, ...]:
        """Return those who may decide now."""
        second = self.policy.escalation
        is_late = second is not None and at >= self.asked_at + second.after
        return (self.policy.audience, *((second.audience,) if second and is_late else ()))

    def next_reminder(self) -> datetime | None:
        """Return when it must be announced again, or escalated; None: never."""
        policy = self.policy
        times = [self.asked_at + policy.remind * (self.reminders + 1)] if policy.remind else []
        if policy.escalation is not None and not self.is_escalated:
            times.append(self.asked_at + policy.escalation.after)
        return min(times, default=None)

    def reminded(self, at: datetime) -> "Approval":
        """Return it with the reminders that are due by now; those that were missed count as one."""
        policy = self.policy
        reminders = max(self.reminders, (at - self.asked_at) // policy.remind) if policy.remind else 0
        second = policy.escalation
        is_escalated = self.is_escalated or (second is not None and at >= self.asked_at + second.after)
        return replace(self, reminders=reminders, is_escalated=is_escalated)

    @property
    def digests(self) -> tuple[str, ...]:
        """Where its audiences find it."""
        second = self.policy.escalation
        of_second = second.audience.digests if second is not None and self.is_escalated else ()
        return tuple(dict.fromkeys((*self.policy.audience.digests, *of_second)))


class Matter(Struct, frozen=True, omit_defaults=True):
    """A question that was decided, with its answer: for those who may decide it."""

    message: str
    schema: str
    """JSON text of the form that was asked for."""
    approval: Approval
    """Without its votes, which the decision has."""
    content: str | None = None
    """JSON text of what the last of those who approved has filled in."""


class Decision(Struct, frozen=True, omit_defaults=True):
    """What was decided of a question."""

    number: int
    """Sequence number of the question."""
    key: str
    audience: str
    """What its audience is called."""
    is_approval: bool
    votes: tuple[Vote, ...]
    """Without what the forms contained."""
    matter: Matter | None = None
    """None: its reader may not see it, or newer decisions need its room in the task."""

    def for_others(self, person: str) -> "Decision":
        """Return what anybody with the link may see of it: no question, no answer, and no name but the reader's own."""
        nameless = (one if one.by == person else replace(one, name="") for one in self.votes)
        return replace(self, votes=tuple(nameless), matter=None)

    def text(self, *, with_names: bool) -> str:
        """Say what was decided and, if they may be named, by whom."""
        verb = "approved" if self.is_approval else "refused"
        names = " and ".join(one.name for one in self.votes if one.is_approval is self.is_approval)
        who = f"{names} of {self.audience}" if with_names else self.audience
        return f"{who} {verb}, {self.votes[-1].at:%Y-%m-%d %H:%M} UTC."


class Approver(Struct, frozen=True):
    """A person who wants to see or decide questions."""

    person: str
    """The digest that stands for them; of a link, a digest of the link."""
    name: str
    qualities: frozenset[Condition] = field(default_factory=frozenset[Condition])
    """What their sign-in shows: each a condition with one value."""
    principal: str = ""
    """By which they call, where that is something else."""
    has_link: bool = False
    """Whether a link that was made for the very question admits them, whatever their qualities."""

    def fits(self, audience: Audience) -> bool:
        """Tell whether the person is of an audience."""
        conditions = audience.conditions
        return bool(conditions) and all(self.qualities.intersection(_alternatives(one)) for one in conditions)

    def may_decide(self, approval: Approval, asked_by: str, at: datetime) -> bool:
        """Tell whether the person may decide a question that a call of this person has raised."""
        if self.person == asked_by and not approval.policy.includes_caller:
            return False
        return self.has_link or any(map(self.fits, approval.audiences(at)))


def with_room(decisions: tuple[Decision, ...]) -> tuple[Decision, ...]:
    """Return the newest decisions that a task keeps, the newer ones with what was asked, as far as that has room."""
    kept, room = list[Decision](), LARGEST_MATTERS
    for one in reversed(decisions[-MOST_DECISIONS:]):
        room -= 0 if one.matter is None else len(encode(one.matter).encode())
        kept.append(one if room >= 0 or not kept else replace(one, matter=None))
    return tuple(reversed(kept))


def role_quality(arn: str) -> HasRole:
    """Return the quality of a role, without its path, which the ARN of a session does not have."""
    account, role, path = arn.partition(_ROLE)
    return HasRole(f"{account}{role}{path.rpartition('/')[2]}")


def digest_of(quality: Condition) -> str:
    """Return the digest of a quality, under which questions for those who have it are found."""
    match quality:
        case HasScope(scope):
            text = write(["scope", scope])
        case HasClaim(claim, values):
            text = write(["claim", claim, *values])
        case HasRole(role):
            text = write(["role", role])
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def narrowed(policy: Approvers, own: Approvers | None) -> Approvers:
    """Return the policy for a question: the manifest's, narrowed by the question's own.

    A workflow may make a question's own of its caller's arguments, so nothing in it lets in anybody.
    """
    if own is None:
        return policy
    wanted = frozenset(map(recipient_key, own.recipients))
    has_links = policy.has_links and set(own.audience.conditions) <= set(policy.audience.conditions)
    return replace(
        policy,
        audience=_both(policy.audience, own.audience),
        approvals=max(policy.approvals, own.approvals),
        includes_caller=policy.includes_caller and own.includes_caller,
        remind=own.remind or policy.remind,
        escalation=_second(policy, own),
        recipients=tuple(one for one in policy.recipients if recipient_key(one) in wanted) or policy.recipients,
        has_links=has_links,
    )


def recipient_key(name: str) -> str:
    """Return the same text for the same recipient: names and addresses that differ only in case are of one person."""
    return name.casefold()


def _second(policy: Approvers, own: Approvers) -> Escalation | None:
    """Return the second audience of a question: never more people than the manifest's, and never earlier."""
    bound, second = policy.escalation, own.escalation
    if second is None:
        return bound
    if bound is None:
        return Escalation(second.after, _both(policy.audience, second.audience))
    return Escalation(max(bound.after, second.after), _both(bound.audience, second.audience))


def waiting_text(approval: Approval, expires_at: datetime | None) -> str:
    """Say whom a question waits for, and how long."""
    left = approval.policy.approvals - len(approval.votes)
    count = "one" if left == 1 else str(left)
    until = "" if expires_at is None else f", until {expires_at:%A %Y-%m-%d %H:%M} UTC"
    return f"Waits for {count} of {approval.shown} to decide{until}."


def names_of(audiences: Iterable[Audience]) -> tuple[str, ...]:
    """Return what audiences are called, each name once."""
    return tuple(dict.fromkeys(one.shown for one in audiences))


def _both(bound: Audience, own: Audience) -> Audience:
    """Return those who are of both, under the name of the manifest's: the caller may have written the question's."""
    name = bound.shown if bound.name or bound.conditions else own.name
    return Audience(tuple(dict.fromkeys((*bound.conditions, *own.conditions))), name)


def _alternatives(condition: Condition) -> Iterable[Condition]:
    if isinstance(condition, HasClaim):
        return [HasClaim(condition.claim, (value,)) for value in condition.values]
    return [condition]
