"""What is kept of the wire: bounded, and without secrets."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from stepwire_local.console.messages import LONGEST, REDACTED, Messages, redacted
from stepwire_local.gateway.exchanges import Exchange
from stepwire_local.gateway.http_api import Request, Response

TASK = "01m8284mr61jc4bzcf42pq8ngrh6dx1rvwa1"
JWT = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl"

_JSON = ("content-type", "application/json")
_MCP = ("mcp-protocol-version", "2025-11-25")


def exchange(body: Any = None, answer: str = "{}", *headers: tuple[str, str]) -> Exchange:
    text = body if isinstance(body, str) else json.dumps(body or {})
    request = Request("POST", "/mcp", "", [_JSON, _MCP, *headers], text.encode(), "127.0.0.1")
    response = Response(200, [_JSON, ("set-cookie", "a=b")], answer.encode())
    return Exchange(request, response, datetime(2026, 11, 1, tzinfo=UTC), 0.01)


def test_a_message_is_kept_as_it_was_sent() -> None:
    messages = Messages()
    body = '{ "method":  "tools/call", "params": {"name": "echo", "_meta": {"progressToken": 7}} }'

    messages.add(exchange(body, f'{{"result": {{"taskId": "{TASK}"}}}}'))

    (kept,) = messages.after(0)
    assert kept.request == body
    assert (kept.method, kept.tool, kept.task, kept.status) == ("tools/call", "echo", TASK, 200)


def test_the_messages_of_a_task_are_those_that_name_it() -> None:
    messages = Messages()
    for body in ({"method": "tools/list"}, {"method": "tasks/get", "params": {"taskId": TASK}}):
        messages.add(exchange(body))

    assert [one.method for one in messages.after(0, TASK)] == ["tasks/get"]
    assert [one.number for one in messages.after(1)] == [2]


def test_the_oldest_go_when_there_are_too_many_or_too_long_ones() -> None:
    few, short = Messages(most=3), Messages(most_bytes=3_000)
    for number in range(10):
        few.add(exchange({"method": f"m{number}"}))
        short.add(exchange({"method": f"m{number}", "params": "x" * 1_000}))

    assert [one.method for one in few.after(0)] == ["m7", "m8", "m9"]
    assert [one.method for one in short.after(0)] == ["m8", "m9"]


def test_a_long_body_is_cut() -> None:
    text = redacted(json.dumps("x" * (LONGEST + 100)))

    assert len(text) < LONGEST + 50
    assert text.endswith("more characters")


@pytest.mark.parametrize(
    "secret",
    [
        {"access_token": "s3cret-value"},
        {"_meta": {"stepwire/card": {"taskId": TASK, "tokens": {"approval": "s3cret-value"}}}},
        {"arguments": {"token": "s3cret-value"}},
        {"delivery": {"secret": "whsec_s3cret-value"}},
        {"items": [{"password": "s3cret-value"}, {"api_key": "s3cret-value"}]},
        {"text": "curl -H 'Authorization: Bearer s3cret-value'"},
        {"text": f"the token {JWT}"},
        {"text": "https://b.s3.amazonaws.com/k?X-Amz-Signature=0123456789abcdef"},
        {"secretKey": "s3cret-value"},
        {"aws": {"secretAccessKey": "s3cret-value", "sessionToken": "s3cret-value"}},
        {"db": {"pwd": "s3cret-value", "passwd": "s3cret-value", "passphrase": "s3cret-value"}},
        {"privateKey": "s3cret-value", "private_key": "s3cret-value"},
        {"credentials": {"user": "alice", "key": "s3cret-value"}},
        {"text": '{"password": "s3cret-value", "deep": {"secretKey": ["s3cret-value"]}}'},
        {"text": json.dumps({"text": json.dumps({"apiKey": "s3cret-value"})})},
        {"text": "password: s3cret-value"},
        {"text": "use AKIAIOSFODNN7EXAMPLE or ASIAIOSFODNN7EXAMPLE"},
        {"text": "a key sk-proj-0123456789abcdefghij, ghp_0123456789abcdefghij0123456789abcdef"},
        {"text": "xoxb-0123456789-abcdefghij and glpat-0123456789abcdefghij"},
        {"text": "-----BEGIN PRIVATE KEY-----\nMIIEs3cret-value\n-----END PRIVATE KEY-----"},
        {"requestState": "s3cret-value-of-a-state-that-continues-a-call"},
    ],
    ids=str,
)
def test_secrets_are_never_kept(secret: Any) -> None:
    messages = Messages()
    stream = f"id: 1\ndata: {json.dumps(secret)}\n\n"

    for body, answer in ((secret, json.dumps(secret)), (json.dumps(secret)[:-1], stream)):
        headers = [("authorization", "Bearer s3cret-value"), ("Cookie", "c=s3cret-value")]
        signed = [("x-amz-security-token", "s3cret-value"), ("x-auth-token", "s3cret-value")]
        messages.add(exchange(body, answer, *headers, *signed))

    kept = json.dumps([one.for_page() for one in messages.after(0)])
    assert "s3cret-value" not in kept
    assert JWT not in kept
    assert "0123456789" not in kept
    assert "IOSFODNN7EXAMPLE" not in kept
    assert f"Bearer {REDACTED}" in kept
    assert "s3cret-value" not in redacted(stream)


def test_what_only_resembles_a_secret_is_kept() -> None:
    text = '{"progressToken": 7, "maxTokens": 100, "idempotencyKey": "k", "text": "a task-sk-1, a risk-free key: yes"}'

    assert redacted(text) == text


def test_a_schema_that_describes_a_token_is_no_secret() -> None:
    text = '{"properties": {"token": {"type": "string", "description": "A token."}}}'

    assert redacted(text) == text


def test_a_page_that_outlives_its_stack_gets_the_messages_of_the_next_one() -> None:
    before, after = Messages(first=100), Messages(first=200)
    before.add(exchange())
    after.add(exchange())

    (last,) = before.after(0)

    assert [one.number for one in after.after(last.number)] == [200]
