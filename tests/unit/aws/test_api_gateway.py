"""API Gateway's events become HTTP requests, and HTTP responses become its responses."""

import pytest

from stepwire.aws.gateway import request_of, response_of
from stepwire.principal import Caller, Claims
from stepwire.protocol.http import HttpResponse
from tests.kits import ALICE
from tests.recorded import recorded

CALLER = Caller(ALICE, Claims({"sub": "alice"}), frozenset({"tools:call"}))


@pytest.mark.parametrize(("raw", "query"), [("resume=1&a=%20b", "resume=1&a=%20b"), ("", ""), (None, "")])
def test_a_request_has_the_query_of_its_url_unchanged(raw: str | None, query: str) -> None:
    event = recorded("http_post_legacy") | {"rawQueryString": raw}

    assert request_of(event, CALLER).query == query


def test_a_request_in_base64_is_the_same_request() -> None:
    encoded, plain = recorded("http_post_base64"), recorded("http_post_legacy")

    assert request_of(encoded, CALLER) == request_of(plain, CALLER)


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
