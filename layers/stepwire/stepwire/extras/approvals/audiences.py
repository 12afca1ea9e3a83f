"""Read who may decide a question, as manifests and questions write it; and what a sign-in shows of a person."""

import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Annotated, Final

from msgspec import Meta, Struct, ValidationError

from stepwire.codec import value_of
from stepwire.extras.approvals.rules import (
    MOST_APPROVALS,
    MOST_VALUES,
    Approver,
    Approvers,
    Condition,
    Escalation,
    HasClaim,
    HasRole,
    HasScope,
    People,
    recipient_key,
    role_quality,
)
from stepwire.json_text import Json
from stepwire.principal import LONGEST_NAME, ROLE_PATTERN, SCOPE_CLAIMS, SCOPE_PATTERN, Caller, Claims
from stepwire.tasks.inputs import InvalidQuestion
from stepwire.visible_text import visible

SHORTEST_REMINDER: Final = timedelta(minutes=15)
"""The interval of the sweep, which sends the reminders of tasks that nobody reads."""
LONGEST_WAIT: Final = timedelta(days=365)
MOST_RECIPIENTS: Final = 10
LONGEST_RECIPIENT: Final = 254  # characters; of an address of e-mail
VALUE_PATTERN: Final = r"^[^\s\[\]]{1,200}$"
"""API Gateway writes a claim that is a list as `[a b]`: a value with a space would look like two."""
MOST_QUALITIES: Final = 500
"""Of one sign-in."""
_SESSION: Final = re.compile(r"arn:([a-z-]+):sts::([0-9]{12}):assumed-role/([^/]+)/")
_NOT_QUALITIES: Final = frozenset({*SCOPE_CLAIMS, "exp", "iat", "nbf", "jti", "auth_time", "origin_jti", "event_id"})


class _Who(Struct, frozen=True, forbid_unknown_fields=True):
    """What an audience is made of, in a question; the manifest has the same names."""

    scope: Annotated[str, Meta(pattern=SCOPE_PATTERN)] | None = None
    claim: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    has: str | tuple[str, ...] = ()
    role: Annotated[str, Meta(pattern=ROLE_PATTERN, max_length=2048)] | None = None
    name: Annotated[str, Meta(max_length=LONGEST_NAME)] = ""

    @property
    def audience(self) -> People:
        """The audience."""
        has = (self.has,) if isinstance(self.has, str) else self.has
        return People(conditions_of(self.scope, self.claim, has, self.role), visible(self.name))


class _Escalate(_Who, frozen=True, forbid_unknown_fields=True, kw_only=True):
    after: timedelta


class _Asked(_Who, frozen=True, forbid_unknown_fields=True, kw_only=True):
    approvals: Annotated[int, Meta(ge=1, le=MOST_APPROVALS)] = 1
    # Left out, it says nothing: then the manifest decides.
    include_caller: bool = True
    remind: timedelta | None = None
    escalate: _Escalate | None = None
    recipients: tuple[Annotated[str, Meta(min_length=1, max_length=LONGEST_RECIPIENT)], ...] = ()


def audience_of(value: Json) -> Approvers:
    """Return the `audience` of a question.

    {"scope"?, "claim"? with "has", "role"?, "name"?, "approvals"?: 1 to 5, "include_caller"?: bool, "remind"?: "PT4H",
     "escalate"?: {"after": "P1D", and one as above}, "recipients"?: [text]}

    Raises:
        InvalidQuestion: it is not valid; says what is wrong.
    """
    try:
        asked = value_of(value, _Asked)
        second = asked.escalate and Escalation(asked.escalate.after, asked.escalate.audience)
        policy = Approvers(
            asked.audience,
            approvals=asked.approvals,
            includes_caller=asked.include_caller,
            remind=asked.remind,
            escalation=second,
            recipients=tuple(map(visible, asked.recipients)),
        )
    except ValidationError as error:
        raise InvalidQuestion(f"at audience: {str(error).replace('$', 'audience')}") from None
    for fault in policy_faults(policy):
        raise InvalidQuestion(f"at audience: {fault}")
    return policy


def conditions_of(scope: str | None, claim: str | None, has: Iterable[str], role: str | None) -> tuple[Condition, ...]:
    """Return the conditions of an audience, all of which must hold.

    Raises:
        InvalidQuestion: a claim has no values, or values no claim; says what is wrong.
    """
    values = tuple(dict.fromkeys(has))
    if (claim is None) is not (not values):
        raise InvalidQuestion("at audience: claim names a claim of the token, and has its values: both, or neither")
    if len(values) > MOST_VALUES or not all(re.fullmatch(VALUE_PATTERN, one) for one in values):
        raise InvalidQuestion(f"at audience: has must be 1 to {MOST_VALUES} values without spaces and brackets")
    found: list[Condition] = [] if role is None else [role_quality(role)]
    found += [] if scope is None else [HasScope(scope)]
    found += [] if claim is None else [HasClaim(claim, values)]
    return tuple(found)


def policy_faults(policy: Approvers) -> Iterable[str]:
    """Yield what is wrong with the times and the people of a policy."""
    if policy.remind is not None and not SHORTEST_REMINDER <= policy.remind <= LONGEST_WAIT:
        yield "remind must be from PT15M to P365D"
    second = policy.escalation
    if second is not None and not SHORTEST_REMINDER <= second.after <= LONGEST_WAIT:
        yield "escalate.after must be from PT15M to P365D"
    if second is not None and not second.audience.conditions:
        yield "escalate must have a scope, a claim or a role"
    people = len(set(map(recipient_key, policy.recipients)))
    if len(policy.recipients) > MOST_RECIPIENTS or people < len(policy.recipients):
        yield f"recipients must be at most {MOST_RECIPIENTS}, each named once, whatever the case of its letters"


def approver_of(caller: Caller, scope_prefix: str = "") -> Approver:
    """Return the person who signed in, with what that shows.

    The prefix is what the issuer puts before the scopes that manifests name.
    """
    scopes = (scope.removeprefix(scope_prefix) for scope in sorted(caller.scopes or ()))
    qualities: list[Condition] = [HasScope(scope) for scope in scopes]
    claims = caller.claims if isinstance(caller.claims, Claims) else Claims(caller.claims)
    for claim in claims:
        if claim not in _NOT_QUALITIES:
            qualities += [HasClaim(claim, (value,)) for value in claims.values_of(claim) if value]
    session = _SESSION.match(claims.get("userArn", ""))
    if session is not None and "iss" not in claims:  # a token is no signature, whatever it claims
        partition, account, role = session.groups()
        qualities.append(HasRole(f"arn:{partition}:iam::{account}:role/{role}"))
    known = frozenset(qualities[:MOST_QUALITIES])
    return Approver(
        caller.person or caller.principal, caller.name, known, principal=caller.principal if caller.person else ""
    )
