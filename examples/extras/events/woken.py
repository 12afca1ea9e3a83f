"""An agent that is woken: it subscribes, calls a tool, and asks for nothing until its webhook is called.

The rule: what arrives is believed only after its signature was checked, by the library of Standard Webhooks. The
receiver is a server on this machine, which only the local stack calls, and only if a flag allows it.
"""

import asyncio
import base64
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

from mcp.shared.exceptions import MCPError
from mcp_types import Request, RequestParams, Result
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from stepwire_client import Task, TaskClient
from stepwire_local.http_server import LoopbackServer, QuietHandler

_HANG_GUARD: Final = 60  # seconds


class _SubscribeParams(RequestParams):
    name: str
    arguments: dict[str, str]
    delivery: dict[str, str]


class _Subscribe(Request[_SubscribeParams, Literal["events/subscribe"]]):
    method: Literal["events/subscribe"] = "events/subscribe"


class _Subscribed(Result):
    id: str


class NotWoken(Exception):
    """The webhook was not called, or with something else; the message says how."""


class Receiver:
    """A webhook's receiver on this machine while its block runs. Answers challenges, and keeps verified events."""

    def __init__(self) -> None:
        self.secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
        self.challenges = 0
        self._events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        receiver = self

        class Handler(QuietHandler):
            def do_POST(self) -> None:
                self.reply(*receiver._answer(self.body(), dict(self.headers)))

        self._server = LoopbackServer(Handler)
        self.url = f"{self._server.origin}/hook"

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._server.__exit__(*error)

    def _answer(self, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        try:
            Webhook(self.secret).verify(body, {name.lower(): value for name, value in headers.items()})
        except WebhookVerificationError:
            return 401, b"{}"
        told = json.loads(body)
        if told.get("type") == "verification":
            self.challenges += 1
            return 200, json.dumps({"challenge": told["challenge"]}).encode()
        self._loop.call_soon_threadsafe(self._events.put_nowait, told)
        return 200, b"{}"

    async def event(self) -> dict[str, Any]:
        """Return the next event.

        Raises:
            NotWoken: there was none for a minute.
        """
        try:
            return await asyncio.wait_for(self._events.get(), _HANG_GUARD)
        except TimeoutError:
            raise NotWoken(f"The webhook was not called for {_HANG_GUARD} seconds.") from None


@dataclass(frozen=True)
class Woken:
    """What an agent knows after it was woken."""

    event: Mapping[str, Any]
    task: Task
    """As the one request for it returned it."""
    seconds: float
    """Between the call and the event."""
    challenges: int
    """How often the receiver proved that it wants deliveries."""


async def woken_by(client: TaskClient, tool: str, arguments: Mapping[str, Any]) -> Woken:
    """Subscribe for the end of a tool's tasks, call the tool, sleep until the webhook is called, and fetch the task.

    Raises:
        NotWoken: the webhook was not called, or for another task.
    """
    with Receiver() as receiver:
        delivery = {"mode": "webhook", "url": receiver.url, "secret": receiver.secret}
        params = _SubscribeParams(name="task.finished", arguments={"tool": tool}, delivery=delivery)
        try:
            await client.mcp.session.send_request(_Subscribe(params=params), _Subscribed)
        except MCPError as error:
            raise NotWoken(f"The subscription was refused: {error}") from None
        began = time.monotonic()
        begun = await client.create_task(tool, arguments)
        if not isinstance(begun, Task):
            raise NotWoken("The server answered without a task.")
        event = await receiver.event()
        seconds = time.monotonic() - began
        if event["data"]["taskId"] != begun.task_id:
            raise NotWoken("The event is of another task.")
        return Woken(event, await client.get_task(begun.task_id), seconds, receiver.challenges)
