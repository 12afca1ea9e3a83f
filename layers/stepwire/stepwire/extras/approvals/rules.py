"""Questions that people other than the caller decide: who may, how many must, and what they have decided. Pure.

The rule: who decides is a *person* whose sign-in shows the qualities that the question's audience needs, or who has a
link made for them. Nobody decides a question of their own, unless the manifest and the question both allow it, and
nobody decides twice. The manifest's policy bounds a question's own: `narrowed` never lets in more people.
"""

import hashlib
from collections.abc import Container, Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from stepwire.codec import object_of, value_of
from stepwire.extras.approvals import NAME
from stepwire.json_text import load_json, write
from stepwire.tasks.answers import Action, Audience, Decision, InputResponse
from stepwire.tasks.task import Task

MOST_APPROVALS: Final = 5
MOST_VALUES: Final = 10
"""Of one claim, each of which suffices."""
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


class People(Struct, frozen=True, omit_defaults=True):
    """The people who may decide questions."""

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
    audience: People


class Approvers(Struct, frozen=True, omit_defaults=True):
    """A policy: who decides the questions of a workflow, and what they and the caller are shown."""

    audience: People = People()
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
    def audiences(self) -> tuple[People, ...]:
        """Those who may decide, sooner or later."""
        return (self.audience, *((self.escalation.audience,) if self.escalation else ()))

    def is_for(self, key: str) -> bool:
        """Tell whether it is for the questions with this key."""
        return not self.questions or key in self.questions


class Route(Struct, frozen=True, omit_defaults=True):
    """What a task keeps of whom its questions are put to (`task.work.routes`)."""

    policy: Approvers
    title: str
    """Display name of the tool."""


def route_of(task: Task) -> Route | None:
    """Return whom questions of a task are put to; None: all are its caller's."""
    kept = task.work.routes.get(NAME)
    return None if kept is None else value_of(kept, Route)


class VoteWay(StrEnum):
    """How a person has decided."""

    TOOL = "tool"
    CARD = "card"
    LINK = "link"
    SIGN_IN = "sign-in"
    """On the page, after a sign-in."""
    CONSOLE = "console"


class DecisionField(Struct, frozen=True):
    """A field of a form that nobody fills in, because the decision answers it (`decision_fields`)."""

    name: str
    approves: bool | str
    """Its value if the question is approved."""
    refuses: bool | str


class Approval(Struct, frozen=True, omit_defaults=True):
    """What is known here of a question for people other than the caller (`Audience.own`)."""

    policy: Approvers
    asked_at: datetime
    reminders: int = 0
    """How often it was announced again."""
    is_escalated: bool = False
    """Whether it was announced to the second audience."""
    fields: tuple[DecisionField, ...] = ()
    """What the decision answers of the form."""

    def audience(self, asked_by: str) -> Audience:
        """Return the audience of the question, which a call of this person has raised."""
        policy = self.policy
        return Audience(
            NAME,
            self.shown,
            policy.approvals,
            "" if policy.includes_caller else asked_by,
            # Nobody can tell whether the one who has a link is the one who signs in.
            (VoteWay.LINK.value,),
            policy.shows_decision,
            object_of(self),
        )

    def completed(self, response: InputResponse) -> InputResponse:
        """Return an answer whose form has the fields that the decision gives."""
        if not self.fields:
            return response
        is_approval = response.action is Action.ACCEPT
        decided = {one.name: one.approves if is_approval else one.refuses for one in self.fields}
        return replace(response, content=write({**load_json(response.content or "{}"), **decided}))

    @property
    def shown(self) -> str:
        """What those are called to whom it was announced."""
        second = self.policy.escalation
        announced = (self.policy.audience, *((second.audience,) if second is not None and self.is_escalated else ()))
        return " or ".join(names_of(announced))

    def audiences(self, at: datetime) -> tuple[People, ...]:
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


def approval_of(audience: Audience) -> Approval | None:
    """Return what is known here of a question; None: it is not for approvers."""
    return value_of(audience.own, Approval) if audience.extra == NAME else None


def for_others(decision: Decision, person: str) -> Decision:
    """Return what anybody with the link may see of it: no question, no answer, and no name but the reader's own."""
    nameless = (one if one.by == person else replace(one, name="") for one in decision.answers)
    return replace(decision, answers=tuple(nameless), matter=None)


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

    def fits(self, audience: People) -> bool:
        """Tell whether the person is of an audience."""
        conditions = audience.conditions
        return bool(conditions) and all(self.qualities.intersection(_alternatives(one)) for one in conditions)

    def may_decide(self, approval: Approval, asked_by: str, at: datetime) -> bool:
        """Tell whether the person may decide a question that a call of this person has raised."""
        if self.person == asked_by and not approval.policy.includes_caller:
            return False
        return self.has_link or any(map(self.fits, approval.audiences(at)))


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


def names_of(audiences: Iterable[People]) -> tuple[str, ...]:
    """Return what audiences are called, each name once."""
    return tuple(dict.fromkeys(one.shown for one in audiences))


def _both(bound: People, own: People) -> People:
    """Return those who are of both, under the name of the manifest's: the caller may have written the question's."""
    name = bound.shown if bound.name or bound.conditions else own.name
    return People(tuple(dict.fromkeys((*bound.conditions, *own.conditions))), name)


def _alternatives(condition: Condition) -> Iterable[Condition]:
    if isinstance(condition, HasClaim):
        return [HasClaim(condition.claim, (value,)) for value in condition.values]
    return [condition]
