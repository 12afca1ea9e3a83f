"""The events that API Gateway can pass to the real handler: with or without identity, body and headers."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from stepwire_local import at_once
from tests.integration.stacks import ROOT, SIGN_IN, Deployed, Event, body_of, deployed
from tests.recorded import recorded
from tests.wire_oracle import check

NO_SIGN_IN = {"WaitSeconds": "0"}
WITH_SIGN_IN = {**NO_SIGN_IN, **SIGN_IN}
CLAIM_OF = {"sub": "sub|client_id"}


@pytest.fixture(scope="module")
def stack() -> Iterator[Deployed]:
    """A stack without sign-in."""
    with deployed(ROOT / "stack.yaml", at_once, **NO_SIGN_IN) as stack:
        yield stack


@pytest.fixture(scope="module")
def guarded() -> Iterator[Deployed]:
    """A stack that needs sign-in."""
    with deployed(ROOT / "stack.yaml", at_once, **WITH_SIGN_IN) as stack:
        yield stack


@pytest.fixture(scope="module")
def needing_scope() -> Iterator[Deployed]:
    """A stack that needs sign-in and a scope."""
    scoped = {**WITH_SIGN_IN, "RequiredScope": "workflows", "EndpointUrl": "https://mcp.example/mcp"}
    with deployed(ROOT / "stack.yaml", at_once, **scoped) as stack:
        yield stack


def answer(stack: Deployed, event: Event) -> dict[str, Any]:
    """Send an event; return its response after checking it."""
    response = stack.stack.invoke("McpFunction", event)
    assert set(response) == {"statusCode", "headers", "body", "isBase64Encoded"}
    return response


def ask(stack: Deployed, event: Event, method: str, **params: Any) -> dict[str, Any]:
    """Send a legacy request in an event; return its result."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    response = answer(stack, {**event, "body": json.dumps(message), "isBase64Encoded": False})
    check(message, body_of(response), "2025-11-25")
    return body_of(response)


@pytest.mark.parametrize("name", ["http_post_legacy", "http_post_base64"])
def test_a_call_is_read_from_plain_text_and_from_base64(stack: Deployed, name: str) -> None:
    event = recorded(name)

    response = answer(stack, event)

    text = base64.b64decode(event["body"]).decode() if event["isBase64Encoded"] else event["body"]
    check(json.loads(text), body_of(response), "2025-11-25")
    assert body_of(response)["result"]["task"]["status"] == "working"


def test_a_modern_call_is_read(stack: Deployed) -> None:
    event = recorded("http_post_modern")

    response = answer(stack, event)

    check(json.loads(event["body"]), body_of(response), "2026-07-28")
    assert response["statusCode"] == 200


def test_a_request_with_no_headers_at_all_is_refused_and_starts_nothing(stack: Deployed) -> None:
    before = stack.executions()

    response = answer(stack, recorded("http_post_headers_null"))

    assert (response["statusCode"], body_of(response)["error"]["code"]) == (415, -32600)
    assert stack.executions() == before


@pytest.mark.parametrize(
    ("body", "is_base64"),
    [
        ("absent", False),
        (None, False),
        ("", False),
        ("", True),
        ("%%%", True),
        ("abc", True),
        (base64.b64encode(b"\xff\xfe").decode(), True),
        (base64.b64encode(b"not json").decode(), True),
        ("half a pair: \ud800", False),
        ('{"jsonrpc":"2.0","id":1,"method":"ping\ud800"}', False),
    ],
)
def test_a_body_that_cannot_be_read_is_a_parse_error(stack: Deployed, body: str | None, is_base64: bool) -> None:
    event = {**recorded("http_post_legacy"), "body": body, "isBase64Encoded": is_base64}
    if body == "absent":
        del event["body"]

    response = answer(stack, event)

    assert (response["statusCode"], body_of(response)["error"]["code"]) == (400, -32700)


def test_header_names_are_case_insensitive(stack: Deployed) -> None:
    event = recorded("http_post_modern")
    event["headers"] = {name.title(): value for name, value in event["headers"].items()}

    response = answer(stack, event)

    assert response["statusCode"] == 200


@pytest.mark.parametrize("http_method", ["GET", "DELETE"])
def test_get_and_delete_are_answered_by_the_protocols_own_405(stack: Deployed, http_method: str) -> None:
    event = recorded("http_get")
    event["requestContext"]["http"]["method"] = http_method

    response = answer(stack, event)

    assert (response["statusCode"], response["headers"]["allow"]) == (405, "POST")


# X28, T21, T24
def test_each_caller_has_its_own_tasks(guarded: Deployed) -> None:
    person, machine, role = (
        recorded(name) for name in ("http_post_jwt", "http_post_jwt_without_subject", "http_post_iam")
    )
    call = {"name": "wait_and_echo", "arguments": {"message": "mine", "seconds": 600}, "task": {}}

    task_id = ask(guarded, person, "tools/call", **call)["result"]["task"]["taskId"]

    assert ask(guarded, person, "tasks/get", taskId=task_id)["result"]["status"] == "working"
    assert [ask(guarded, other, "tasks/get", taskId=task_id)["error"]["code"] for other in (machine, role)] == [
        -32602
    ] * 2
    assert task_id not in json.dumps([ask(guarded, other, "tasks/list") for other in (machine, role)])


# X28
def test_a_request_without_an_identity_is_refused_if_sign_in_is_needed(guarded: Deployed) -> None:
    before = guarded.executions()

    response = answer(guarded, recorded("http_post_legacy"))

    assert (response["statusCode"], body_of(response)["error"]["code"]) == (401, -32603)
    assert guarded.executions() == before


# M4
@pytest.mark.parametrize("claims", [{}, None])
def test_a_token_without_claims_is_refused(guarded: Deployed, claims: dict[str, str] | None) -> None:
    event = recorded("http_post_jwt")
    event["requestContext"]["authorizer"]["jwt"]["claims"] = claims

    response = answer(guarded, event)

    assert response["statusCode"] == 401


# M4, T24
@pytest.mark.parametrize("claims", [{"iss": "https://issuer.example"}, {"sub": "alice"}, {"iss": "", "sub": "a"}])
def test_an_incomplete_identity_is_refused_with_the_missing_claims(guarded: Deployed, claims: dict[str, str]) -> None:
    before = guarded.executions()
    event = recorded("http_post_jwt")
    event["requestContext"]["authorizer"]["jwt"]["claims"] = claims

    response = answer(guarded, event)

    (missing,) = {"iss", "sub|client_id"} - {CLAIM_OF.get(name, name) for name, value in claims.items() if value}
    assert (response["statusCode"], body_of(response)["error"]["data"]) == (403, {"missing": [missing]})
    assert guarded.executions() == before


# M4
@pytest.mark.long
def test_a_caller_without_the_scope_gets_the_challenge_through_api_gateway(needing_scope: Deployed) -> None:
    response = answer(needing_scope, recorded("http_post_jwt_without_subject"))

    error = body_of(response)["error"]
    assert (response["statusCode"], error["data"]["scope"]) == (403, "workflows")
    assert error["data"]["resource_metadata"] == "https://mcp.example/.well-known/oauth-protected-resource/mcp"
    assert 'error="insufficient_scope"' in response["headers"]["www-authenticate"]


# T24
def test_a_stack_without_sign_in_ignores_claimed_identities(stack: Deployed) -> None:
    call = {"name": "wait_and_echo", "arguments": {"message": "everybody's", "seconds": 600}, "task": {}}

    task_id = ask(stack, recorded("http_post_jwt"), "tools/call", **call)["result"]["task"]["taskId"]

    assert ask(stack, recorded("http_post_legacy"), "tasks/get", taskId=task_id)["result"]["status"] == "working"


# T21
def test_an_open_stack_lists_no_tasks(stack: Deployed) -> None:
    assert ask(stack, recorded("http_post_legacy"), "tasks/list")["error"]["code"] == -32601
