"""MCP Events on the whole local stack: what the table's stream tells, and what a caller is given of it."""

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from standardwebhooks.webhooks import Webhook

from stepwire_local import LocalStack, at_once
from stepwire_local.http_server import LoopbackServer, QuietHandler
from tests.adopted import ADOPTER
from tests.integration.stacks import ROOT, SIGN_IN, AwsCalls, Deployed, deployed
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, ModernClient
from tests.waiting import until

SECRET: Final = "whsec_" + base64.b64encode(b"s" * 32).decode()
TOOL: Final = "wait_and_echo"
REFUND: Final = {"order_id": "A-1002", "amount": "249.00", "currency": "EUR", "reason": "It wobbles."}
APPROVAL: Final = {"approval": {"action": "accept", "content": {"amount": 120.5, "note": "Half."}}}


class Hook:
    """A receiver of webhooks on this machine, as an agent's host has one."""

    def __init__(self) -> None:
        self.posts: list[tuple[dict[str, str], bytes]] = []
        self.statuses: list[int] = []
        """The answers to the next events; then 200."""
        hook = self

        class Handler(QuietHandler):
            def do_POST(self) -> None:
                body = self.body()
                hook.posts.append(({name.lower(): value for name, value in self.headers.items()}, body))
                challenge = json.loads(body).get("challenge")
                status = 200 if challenge or not hook.statuses else hook.statuses.pop(0)
                self.reply(status, json.dumps({"challenge": challenge}).encode())

        self.server = LoopbackServer(Handler)
        self.url = f"{self.server.origin}/hook"

    def events(self) -> list[dict[str, Any]]:
        """Return the events, after the check of their signatures by the library of Standard Webhooks."""
        return [Webhook(SECRET).verify(body, headers) for headers, body in self.posts if b"eventId" in body]


@pytest.fixture(scope="module")
def private_stack() -> Iterator[Deployed]:
    """A stack with sign-in, whose webhooks may lead to this machine."""
    parameters = {"PollsPerSecond": "0", "WaitSeconds": "0", **SIGN_IN}
    others = [ADOPTER]
    with LocalStack(
        ROOT / "stack.yaml", others=others, events=at_once, parameters=parameters, variables={"LOCAL_WEBHOOKS": "on"}
    ) as stack:
        yield Deployed(stack, AwsCalls())


@pytest.fixture
def hook() -> Iterator[Hook]:
    made = Hook()
    with made.server:
        yield made


@pytest.fixture
def modern(private_stack: Deployed) -> ModernClient:
    return ModernClient(private_stack, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY})


def poll(client: ModernClient, tool: str, cursor: str | None = None) -> dict[str, Any]:
    wanted = {"name": "task.status_changed", "arguments": {"tool": tool}, "cursor": cursor}
    return client.ask("events/poll", wanted).result


def test_a_caller_hears_of_each_question_and_of_the_end(modern: ModernClient, private_stack: Deployed) -> None:
    first = poll(modern, "approve_refund")["cursor"]
    task_id = modern.call("approve_refund", REFUND).id_in()
    until(lambda: modern.task("get", task_id).result["status"] == "input_required")
    modern.update(task_id, APPROVAL)
    until(lambda: modern.task("get", task_id).result["status"] == "completed")
    private_stack.stack.drain()

    told = poll(modern, "approve_refund", first)["events"]

    assert [(one["data"]["previousStatus"], one["data"]["status"]) for one in told] == [
        (None, "working"),
        ("working", "input_required"),
        ("input_required", "working"),
        ("working", "completed"),
    ]
    assert not [words for words in ("249.00", "wobbles", "Half", "120.5") if words in json.dumps(told)]


def test_a_caller_hears_that_a_task_has_expired(modern: ModernClient, private_stack: Deployed) -> None:
    cursor = poll(modern, TOOL)["cursor"]
    modern.call(TOOL, {"message": "hello", "seconds": 600}).id_in()

    private_stack.stack.expire(at=datetime.now(UTC) + timedelta(days=8))
    private_stack.stack.drain()

    # What happened before is over a week old by then, and removed too.
    assert [one["data"]["status"] for one in poll(modern, TOOL, cursor)["events"]][-1] == "expired"


def test_an_agent_is_woken_when_its_task_has_ended(modern: ModernClient, private_stack: Deployed, hook: Hook) -> None:
    wish = {"name": "task.finished", "delivery": {"mode": "webhook", "url": hook.url, "secret": SECRET}}
    hook.statuses = [503]
    subscribed = modern.ask("events/subscribe", wish).result
    task_id = modern.call(TOOL, {"message": "xyzzy"}).id_in()
    until(lambda: len(hook.posts) > 1)
    private_stack.stack.drain()
    failed = modern.ask("events/subscribe", wish).result["deliveryStatus"]
    until(lambda: len(hook.posts) > 2)

    first, again = hook.events()
    shown = modern.task("get", again["data"]["taskId"]).result

    assert first["eventId"] == again["eventId"] == f"{task_id}-2.finished"
    assert {headers["x-mcp-subscription-id"] for headers, _ in hook.posts} == {subscribed["id"]}
    assert (failed["lastError"], failed["active"]) == ("http_5xx", True)
    assert shown["status"] == "completed"
    assert not [body for _, body in hook.posts if b"xyzzy" in body]


@pytest.mark.long
def test_a_stack_delivers_to_no_address_of_this_machine_unless_told_to(hook: Hook) -> None:
    delivery = {"mode": "webhook", "url": hook.url, "secret": SECRET}
    with deployed(ROOT / "stack.yaml", at_once, Events="on", **SIGN_IN) as stack:
        plain = ModernClient(stack).ask("events/subscribe", {"name": "task.finished", "delivery": delivery}).error
        other = {**delivery, "url": "https://127.0.0.1/hook"}
        secured = ModernClient(stack).ask("events/subscribe", {"name": "task.finished", "delivery": other}).error

    assert (plain["code"], secured["code"]) == (-32602, -32602)
    assert hook.posts == []
