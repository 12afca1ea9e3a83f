"""A REST API's event is read as the HTTP API's for the same request, and its responses are the same."""

from typing import Any, Final

import pytest

from stepwire.aws.gateway import SignIn, caller_with_unique_id, request_of
from stepwire.errors import InvalidParams, NotSignedIn
from stepwire.extras.door.bearer_tokens import digest_of
from stepwire.extras.door.rest_events import RestDoor, http_event_of
from stepwire.principal import Caller
from stepwire.protocol.http import Selection, selection_in
from stepwire.protocol.tokens import encode
from tests.extras.door.rest_events import rest_event_of
from tests.kits import ALICE
from tests.recorded import FOLDER, recorded

CALLER: Final = Caller(ALICE)
SIGN_IN: Final = SignIn("a stack")
CLAIMS: Final = b'{"iss": "https://i", "sub": "alice", "groups": ["a b", "c"]}'
TOKEN: Final = f"{encode(b'{}')}.{encode(CLAIMS)}.c2ln"
PAGE: Final = "https://app.example"
REQUESTS: Final = sorted(path.stem for path in FOLDER.glob("http_*.json"))


@pytest.mark.parametrize("name", [name for name in REQUESTS if "metadata" not in name])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"rawQueryString": "resume=1&group=a+b&group=%C3%BC"},
        {"pathParameters": {"proxy": "group/finance"}, "rawQueryString": "resume=1"},
    ],
)
def test_a_request_is_the_same_at_either_door(name: str, more: dict[str, Any]) -> None:
    event = recorded(name) | more

    seen = request_of(http_event_of(rest_event_of(event)), CALLER)

    assert seen == request_of(event, CALLER)


@pytest.mark.parametrize(
    "query",
    [
        "gr%6fup=finance",
        "t%6Fols=a&group=%66inance",
        "group=hr&key=" + "*" * 5_000,
        "group=hr&key=" + "*" * 9_000,
        "%67roup=" + "g," * 101,
        "%74ools",
        "&".join(["%67roup=hr"] * 21),
    ],
)
def test_a_selection_is_the_same_at_either_door_however_its_query_is_encoded(query: str) -> None:
    event = recorded("http_post_modern") | {"rawQueryString": query}

    def selected(asked: dict[str, Any]) -> Selection | str | None:
        try:
            return selection_in(request_of(asked, CALLER).query)
        except InvalidParams as refused:
            return str(refused)

    assert selected(event) == selected(http_event_of(rest_event_of(event))) is not None


def test_several_values_of_a_header_are_one_with_commas_whatever_its_case() -> None:
    event = rest_event_of(recorded("http_post_legacy"))
    event["multiValueHeaders"] |= {"X-Forwarded-For": ["a", "b"], "x-forwarded-for": ["c"]}

    assert http_event_of(event)["headers"]["x-forwarded-for"] == "a,b,c"


def test_a_signature_is_of_the_same_caller_at_either_door() -> None:
    event = recorded("http_post_iam")

    caller = SIGN_IN.caller_of(http_event_of(rest_event_of(event)))

    assert caller == SIGN_IN.caller_of(event)
    assert caller.principal == caller_with_unique_id(SIGN_IN, "AROAIOSFODNN7EXAMPLE").principal


def test_a_signature_of_an_identity_pool_is_of_the_same_caller_at_either_door() -> None:
    event = recorded("http_post_iam")
    pool = {"amr": ["authenticated"], "identityId": "eu-central-1:1", "identityPoolId": "eu-central-1:2"}
    event["requestContext"]["authorizer"]["iam"]["cognitoIdentity"] = pool

    assert SIGN_IN.caller_of(http_event_of(rest_event_of(event))) == SIGN_IN.caller_of(event)


def with_token(authorization: list[str], verified: str | None) -> dict[str, Any]:
    """Return an event with these headers, and with what the authorizer says of the token that it has verified."""
    context = None if verified is None else {"verified": digest_of(verified)}
    event = rest_event_of(recorded("http_post_legacy"), context)
    event["multiValueHeaders"]["Authorization"] = authorization
    return event


def test_the_caller_is_of_the_token_that_the_authorizer_has_verified() -> None:
    caller = SIGN_IN.caller_of(http_event_of(with_token([f"Bearer {TOKEN}"], TOKEN)))

    assert dict(caller.claims) == {"iss": "https://i", "sub": "alice", "groups": "[a b c]"}
    assert http_event_of(with_token([TOKEN], TOKEN))["requestContext"]["authorizer"]["jwt"]["claims"] == caller.claims


@pytest.mark.parametrize(
    ("authorization", "verified"),
    [
        ([f"Bearer {TOKEN}"], None),  # nobody has verified it
        ([f"Bearer {TOKEN}"], f"{TOKEN}x"),
        ([f"Bearer {TOKEN}", "Bearer another"], TOKEN),
        (["Bearer another", f"Bearer {TOKEN}"], "another"),
        ([], TOKEN),
        ([""], ""),
    ],
)
def test_a_token_that_the_authorizer_has_not_verified_is_nobodys(
    authorization: list[str], verified: str | None
) -> None:
    with pytest.raises(NotSignedIn):
        SIGN_IN.caller_of(http_event_of(with_token(authorization, verified)))


# --------------------------------------------------------------------------------------------------------- responses

OK: Final[dict[str, Any]] = {
    "statusCode": 200,
    "headers": {"content-type": "a/b"},
    "body": "c",
    "isBase64Encoded": False,
}


def asked_from(origin: str | None, method: str = "POST") -> dict[str, Any]:
    event: dict[str, Any] = {**rest_event_of(recorded("http_post_legacy")), "httpMethod": method}
    headers: dict[str, list[str]] = event["multiValueHeaders"]
    if origin is not None:
        headers["Origin"] = [origin]
    return event


@pytest.mark.parametrize("origin", [None, "https://evil.example", "", "null"])
def test_a_response_has_no_cors_headers_for_pages_that_may_not_call(origin: str | None) -> None:
    assert RestDoor({PAGE}).answer(asked_from(origin), lambda _: OK) == OK


def test_a_page_that_may_call_reads_the_response() -> None:
    answered = RestDoor({PAGE}).answer(asked_from(PAGE), lambda _: OK)

    cors = {"access-control-allow-origin": PAGE, "access-control-expose-headers": answered["headers"].popitem()[1]}
    assert answered == {**OK, "headers": {"content-type": "a/b", "access-control-allow-origin": PAGE}}
    assert "retry-after" in cors["access-control-expose-headers"].split(",")


@pytest.mark.parametrize(("origin", "is_allowed"), [(PAGE, True), ("https://evil.example", False), (None, False)])
def test_a_preflight_is_answered_without_the_function(origin: str | None, is_allowed: bool) -> None:
    def never(_event: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError("it was asked")

    answered = RestDoor({PAGE}).answer(asked_from(origin, "OPTIONS"), never)

    assert answered["statusCode"] == 204
    assert ("access-control-allow-origin" in answered["headers"]) is is_allowed
    assert ("access-control-allow-methods" in answered["headers"]) is is_allowed


def test_cookies_are_headers_of_a_response() -> None:
    answered = RestDoor().answer(asked_from(None), lambda _: {**OK, "cookies": ["a=1", "b=2"]})

    assert answered == {**OK, "multiValueHeaders": {"set-cookie": ["a=1", "b=2"]}}
