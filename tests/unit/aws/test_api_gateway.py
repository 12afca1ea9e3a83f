"""API Gateway's events become HTTP requests, and HTTP responses become its responses."""

import pytest

from stepwire.aws.gateway import SignIn, request_of, response_of
from stepwire.composition import RESERVED_PARAMETERS
from stepwire.errors import UnknownPath
from stepwire.principal import Caller, Claims
from stepwire.protocol.http import HttpResponse
from stepwire.protocol.tokens import encode, wrap
from tests.kits import ALICE
from tests.recorded import recorded

CALLER = Caller(ALICE, Claims({"sub": "alice"}), frozenset({"tools:call"}))


@pytest.mark.parametrize(("raw", "query"), [("resume=1&a=%20b", "resume=1&a=%20b"), ("", ""), (None, "")])
def test_a_request_has_the_query_of_its_url_unchanged(raw: str | None, query: str) -> None:
    event = recorded("http_post_legacy") | {"rawQueryString": raw}

    assert request_of(event, CALLER).query == query


@pytest.mark.parametrize(
    ("path", "raw", "query"),
    [
        ("group/finance", "", "group=finance"),
        ("group/finance/", "", "group=finance"),
        ("tools/a,b_c.d/resume/1", "", "tools=a%2Cb_c.d&resume=1"),
        ("tools/a%2Cb", "", "tools=a%2Cb"),
        ("group/hr", "group=finance&key=1", "group=finance&key=1&group=hr"),
        ("group/a&tools=b", "", "group=a%26tools%3Db"),
        ("group//tools/a", "", "group=&tools=a"),
        ("/", "key=1", "key=1"),
        ("", "key=1", "key=1"),
    ],
)
def test_names_and_values_of_a_path_mean_the_same_as_in_the_query(path: str, raw: str, query: str) -> None:
    event = recorded("http_post_legacy") | {"rawQueryString": raw, "pathParameters": {"proxy": path}}

    assert request_of(event, CALLER).query == query


@pytest.mark.parametrize("path", ["group", "group/finance/hr", "finance", "groups/finance", "a/" * 500_000, "%2e%2e/x"])
def test_any_other_path_is_refused_with_what_it_may_be(path: str) -> None:
    known = sorted({"group", "resume", "rounds", "tools"} | RESERVED_PARAMETERS)

    with pytest.raises(UnknownPath, match=f"/mcp/group/finance: {', '.join(known)}") as refused:
        request_of(recorded("http_post_legacy") | {"pathParameters": {"proxy": path}}, CALLER)

    assert refused.value.status == 404


def test_a_request_in_base64_is_the_same_request() -> None:
    encoded, plain = recorded("http_post_base64"), recorded("http_post_legacy")

    assert request_of(encoded, CALLER) == request_of(plain, CALLER)


@pytest.mark.parametrize(
    ("header", "groups"),
    [
        ("Bearer {own}", {"staff"}),
        ("{own}", {"staff"}),
        ("Bearer {own},Bearer {forged}", set[str]()),
        ("{own},Bearer {forged}", set[str]()),
        ("{own},{forged}", set[str]()),
    ],
)
def test_a_second_token_beside_the_verified_one_gives_nobody_its_groups(header: str, groups: set[str]) -> None:
    own, forged = (f"e30.{wrap({'groups': [one]})}.c2ln" for one in ("staff", "finance"))
    event = recorded("http_post_jwt")
    event["requestContext"]["authorizer"]["jwt"]["claims"] |= {"groups": "[staff]"}
    event["headers"]["authorization"] = header.format(own=own, forged=forged)

    claims = SignIn("a stack").caller_of(event).claims

    assert isinstance(claims, Claims)
    assert set(claims.values_of("groups")) == groups


def test_a_token_that_is_nested_too_deep_to_be_read_lists_nothing() -> None:
    claims = b'{"groups":' + b"[" * 5_000 + b"]" * 5_000 + b"}"
    token = f"e30.{encode(claims)}.c2ln"

    assert Claims({"groups": "[staff]"}, token).values_of("groups") == ()


def test_a_response_has_the_format_of_api_gateway() -> None:
    response = HttpResponse(405, '{"message":"grüße"}', {"content-type": "application/json", "allow": "POST"})

    assert response_of(response) == {
        "statusCode": 405,
        "headers": {"content-type": "application/json", "allow": "POST"},
        "body": '{"message":"grüße"}',
        "isBase64Encoded": False,
    }


def test_a_response_without_a_body_has_an_empty_one() -> None:
    """M6."""
    assert response_of(HttpResponse(202))["body"] == ""
