"""The AI SDK's client of MCP Events subscribes, takes a signed delivery, refreshes and unsubscribes."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from examples.sign_in import SignIn
from stepwire_local import LocalStack
from tests import npm
from tests.examples.stacks import EXAMPLES, ROOT
from tests.extras.events.event_types import EVENT_NAMES
from tests.waiting import HANG_GUARD

LOCAL: Final = {"LOCAL_WEBHOOKS": "on"}
NODE: Final = Path(__file__).parents[3] / "clients" / "ai_sdk"


@pytest.mark.long
def test_the_ai_sdk_is_woken_and_verifies_the_delivery() -> None:
    npm.install(NODE)
    with SignIn() as sign_in:
        token = sign_in.headers()["Authorization"].removeprefix("Bearer ")
        template, parameters = ROOT / "stack.yaml", sign_in.parameters
        with LocalStack(template, others=[EXAMPLES], parameters=parameters, variables=LOCAL) as stack:
            given = json.dumps({"item": "chair", "in_stock_at_attempt": 1})
            done = npm.node(NODE, ["woken.mjs", stack.url, token, "reserve_stock", given], HANG_GUARD)

    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    assert said["types"] == list(EVENT_NAMES)
    assert said["statuses"] == [200, 204], "the challenge and one event, whose signature was verified"
    assert said["taken"]["event"]["data"]["status"] == "completed"
    assert said["taken"]["subscription"]["id"] == said["subscribed"]["id"]
    assert said["left"] == 0
