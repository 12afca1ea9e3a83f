"""What a question may say of its audience, and what a sign-in shows of a person."""

import base64
import json
from typing import Any, Final

import pytest

from stepwire.aws.gateway import caller_with_claims
from stepwire.extras.approvals.audiences import MOST_QUALITIES, approver_of, audience_of
from stepwire.extras.approvals.rules import Approver, HasClaim, HasRole, HasScope, People
from stepwire.json_text import Json, JsonObject
from stepwire.principal import Caller, Claims, Principal
from stepwire.tasks.inputs import InvalidQuestion
from tests.unit.aws.test_sign_in import ISSUER, SCOPES, SIGN_IN

PRINCIPAL: Final = Principal("a" * 32)
ROLE: Final = "arn:aws:iam::123456789012:role/people/chief"


def of(*, scopes: frozenset[str] | None = None, person: str = "", **claims: str) -> Approver:
    return approver_of(Caller(PRINCIPAL, Claims(claims), scopes, person))


# --------------------------------------------------------------------------------------------------- a question's words


def test_a_question_may_say_all_of_it() -> None:
    policy = audience_of(
        {
            "scope": "refunds.approve",
            "claim": "groups",
            "has": ["finance", "audit", "finance"],
            "role": ROLE,
            "name": "fin\u202eance",
            "approvals": 2,
            "include_caller": False,
            "remind": "PT4H",
            "escalate": {"after": "P1D", "claim": "groups", "has": "leads"},
            "recipients": ["ann@example.com", "ben@example.com"],
        }
    )

    role = HasRole("arn:aws:iam::123456789012:role/chief")
    assert policy.audience.conditions == (role, HasScope("refunds.approve"), HasClaim("groups", ("finance", "audit")))
    assert "\u202e" not in policy.audience.name
    assert (policy.approvals, policy.includes_caller) == (2, False)
    assert policy.escalation is not None
    assert policy.escalation.audience == People((HasClaim("groups", ("leads",)),))


def test_an_empty_one_says_nothing() -> None:
    policy = audience_of({})

    assert (policy.audience.conditions, policy.approvals, policy.includes_caller) == ((), 1, True)


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("finance", "Expected `object`"),
        ([], "Expected `object`"),
        ({"scopes": "a"}, "unknown field `scopes`"),
        ({"scope": "a b"}, "audience.scope"),
        ({"scope": ["a"]}, "audience.scope"),
        ({"claim": "groups"}, "both, or neither"),
        ({"has": "finance"}, "both, or neither"),
        ({"claim": "groups", "has": "not finance"}, "without spaces and brackets"),
        ({"claim": "groups", "has": "[finance"}, "without spaces and brackets"),
        ({"claim": "groups", "has": "finance\n"}, "without spaces and brackets"),
        ({"claim": "groups", "has": [str(one) for one in range(11)]}, "1 to 10 values"),
        ({"claim": "groups", "has": ["x" * 201]}, "1 to 10 values"),
        ({"claim": "groups", "has": [1]}, "audience.has"),
        ({"role": "chief"}, "audience.role"),
        ({"approvals": 0}, "audience.approvals"),
        ({"approvals": 6}, "audience.approvals"),
        ({"approvals": True}, "audience.approvals"),
        ({"include_caller": "yes"}, "audience.include_caller"),
        ({"remind": "PT14M"}, "remind must be from PT15M"),
        ({"remind": "P366D"}, "remind must be from PT15M"),
        ({"remind": "-P1D"}, "remind"),
        ({"remind": "soon"}, "audience.remind"),
        ({"escalate": {"claim": "groups", "has": "leads"}}, "after"),
        ({"escalate": {"after": "P1D"}}, "escalate must have"),
        ({"escalate": {"after": "PT14M", "scope": "a"}}, "escalate.after must be from PT15M"),
        ({"escalate": {"after": "P1D", "scope": "a", "escalate": {}}}, "unknown field `escalate`"),
        ({"recipients": ["a", "a"]}, "recipients must be at most 10"),
        ({"recipients": ["Ann@example.com", "ann@example.com"]}, "each named once"),
        ({"recipients": [str(one) for one in range(11)]}, "recipients must be at most 10"),
        ({"recipients": [""]}, "audience.recipients"),
        ({"name": "x" * 101}, "audience.name"),
    ],
)
def test_what_is_wrong_is_named(value: Json, fault: str) -> None:
    with pytest.raises(InvalidQuestion) as raised:
        audience_of(value)

    assert fault in str(raised.value)
    assert str(raised.value).startswith("at audience")


# ---------------------------------------------------------------------------------------------------- a sign-in's words


@pytest.mark.parametrize(
    ("claim", "values"),
    [
        ("finance", {"finance"}),
        ("[finance]", {"finance"}),
        ("[staff finance]", {"staff", "finance"}),
        ("[]", set[str]()),
        ("", set[str]()),
    ],
)
def test_a_claim_is_a_text_or_a_list(claim: str, values: set[str]) -> None:
    assert of(groups=claim).qualities == {HasClaim("groups", (one,)) for one in values}


@pytest.mark.parametrize(
    ("groups", "text", "values"),
    [
        (["finance team", "board"], "[finance team board]", {"finance team", "board"}),
        ("[finance]", "[finance]", {"[finance]"}),
        (["finance", 7], "[finance 7]", {"finance"}),
    ],
)
def test_a_list_is_read_from_the_token_itself(groups: Json, text: str, values: set[str]) -> None:
    payload = base64.urlsafe_b64encode(json.dumps({"groups": groups}).encode()).decode().rstrip("=")

    approver = approver_of(Caller(PRINCIPAL, Claims({"groups": text}, f"e30.{payload}.c2ln")))

    assert {one.values[0] for one in approver.qualities if isinstance(one, HasClaim)} == values


def test_a_token_that_is_none_shows_no_list() -> None:
    assert not approver_of(Caller(PRINCIPAL, Claims({"groups": "[finance]"}, "no.jwt"))).qualities


def test_scopes_are_without_the_prefix_of_the_issuer() -> None:
    caller = Caller(PRINCIPAL, Claims(), frozenset({"https://api.example/refunds.approve", "openid"}))

    found = approver_of(caller, "https://api.example/").qualities

    assert found == {HasScope("refunds.approve"), HasScope("openid")}


@pytest.mark.parametrize("claim", ["scope", "scp", "exp", "iat", "jti"])
def test_what_says_nothing_of_a_person_is_no_quality(claim: str) -> None:
    assert approver_of(Caller(PRINCIPAL, Claims({claim: "refunds.approve"}))).qualities == frozenset()


@pytest.mark.parametrize(
    ("arn", "role"),
    [
        ("arn:aws:sts::123456789012:assumed-role/chief/anything", "arn:aws:iam::123456789012:role/chief"),
        ("arn:aws-cn:sts::123456789012:assumed-role/chief/a", "arn:aws-cn:iam::123456789012:role/chief"),
        ("arn:aws:iam::123456789012:user/chief", None),
        ("arn:aws:sts::123456789012:federated-user/chief", None),
        ("x arn:aws:sts::123456789012:assumed-role/chief/a", None),
    ],
)
def test_a_signature_shows_the_role(arn: str, role: str | None) -> None:
    roles = {one.role for one in of(userArn=arn).qualities if isinstance(one, HasRole)}

    assert roles == ({role} if role else set())


def test_a_claim_of_a_token_is_no_signature() -> None:
    found = of(iss="https://issuer.example", userArn="arn:aws:sts::123456789012:assumed-role/chief/a").qualities

    assert not [one for one in found if isinstance(one, HasRole)]


def test_a_sign_in_with_very_many_groups_is_bounded() -> None:
    groups = " ".join(str(one) for one in range(5_000))

    assert len(of(groups=f"[{groups}]").qualities) == MOST_QUALITIES


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({"email": "ann@example.com", "sub": "1"}, "ann@example.com"),
        ({"preferred_username": "ann", "sub": "1"}, "ann"),
        ({"sub": "1"}, "1"),
        ({"userArn": "arn:aws:sts::123456789012:assumed-role/chief/ann"}, "assumed-role/chief/ann"),
        ({}, "somebody"),
        ({"name": "x" * 200}, "x" * 100),
    ],
)
def test_a_person_is_called_by_the_first_claim_that_names_them(claims: dict[str, Any], name: str) -> None:
    assert of(**claims).name == name


@pytest.mark.parametrize(("claims", "scopes"), SCOPES)
def test_the_scopes_of_a_person_are_those_with_which_they_call(claims: JsonObject, scopes: set[str]) -> None:
    """F6."""
    person = approver_of(caller_with_claims(SIGN_IN, {"iss": ISSUER, "sub": "alice", **claims}))

    assert {one.scope for one in person.qualities if isinstance(one, HasScope)} == scopes


def test_a_person_is_the_same_at_each_client() -> None:
    assert of().person == PRINCIPAL
    assert of(person="b" * 32).person == "b" * 32
