"""Tools whose manifest makes an idempotency key of arguments, and clients that call them."""

from datetime import timedelta
from typing import Any, Final

import pytest
from msgspec.structs import replace

from stepwire.catalog.tools import Idempotency
from stepwire.json_text import write
from tests.kits import CONFIRMED, OPTIONAL, TOOLS, World, catalog_of
from tests.server.answers import Answer, Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient

MARK: Final = "stepwire/repeated"
WINDOW: Final = timedelta(minutes=10)
RULE: Final = Idempotency(("customer", "month"), WINDOW)
SCHEMA: Final = write(
    {
        "type": "object",
        "properties": {
            "customer": {"type": "string"},
            "month": {"type": "number"},
            "note": {"type": "string"},
            "confirmation": {"type": "object"},
        },
        "required": ["customer", "month"],
        "additionalProperties": False,
    }
)
SETTLE: Final = replace(OPTIONAL, name="settle", input_schema=SCHEMA, idempotency=RULE)
BILL: Final = replace(SETTLE, name="bill")
SETTLE_CONFIRMED: Final = replace(CONFIRMED, name="settle_confirmed", input_schema=SCHEMA, idempotency=RULE)
ARGUMENTS: Final[Json] = {"customer": "ACME", "month": 7}
Client = LegacyClient | ModernClient
eras = pytest.mark.parametrize("era", ["legacy", "modern"])


def world_with(**more: Any) -> World:
    """Return a world that also has the tools of this module."""
    return World(catalog=catalog_of(*TOOLS, SETTLE, BILL, SETTLE_CONFIRMED), **more)


@pytest.fixture
def world() -> World:
    """A world that also has the tools of this module."""
    return world_with()


def client_of(world: World, era: str, **more: Any) -> Client:
    """Return a client of this era with tasks, which can ask its user."""
    if era == "legacy":
        return LegacyClient.opened(world, capabilities=ASKING_CAPABILITY, **more)
    return ModernClient(world, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY}, **more)


def begun(client: Client, tool: str = "settle", key: str | None = None, **changes: Any) -> Answer:
    """Call a tool with a task."""
    params: Json = {"name": tool, "arguments": {**ARGUMENTS, **changes}}
    as_task: Json = {"task": {}} if isinstance(client, LegacyClient) else {}
    headers = None if key is None else {"idempotency-key": key}
    return client.ask("tools/call", {**params, **as_task}, headers=headers)


def id_of(answer: Answer) -> str:
    """Return the id of the task that a call created or found."""
    return answer.result.get("task", answer.result)["taskId"]


def is_marked(answer: Answer) -> bool:
    """Tell whether a result says that its call started nothing."""
    return answer.result.get("_meta", {}).get(MARK, False)
