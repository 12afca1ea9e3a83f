"""The demo's agent is woken by its webhook, and believes nothing whose signature is wrong."""

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import pytest
from standardwebhooks.webhooks import Webhook

from examples.extras.events.woken import NotWoken, Receiver, Woken, woken_by
from examples.sign_in import SignIn
from stepwire_client import Completed, connect
from stepwire_local import LocalStack
from tests.examples.stacks import EXAMPLES, ROOT

CHAIR: Final = {"item": "chair", "in_stock_at_attempt": 1}


@pytest.fixture(scope="module")
def sign_in() -> Iterator[SignIn]:
    with SignIn() as issuer:
        yield issuer


def woken(sign_in: SignIn, variables: dict[str, str]) -> Woken:
    async def wake(url: str) -> Woken:
        async with connect(url, headers=sign_in.headers()) as client:
            return await woken_by(client, "reserve_stock", CHAIR)

    template = ROOT / "stack.yaml"
    parameters = sign_in.parameters
    with LocalStack(template, others=[EXAMPLES], parameters=parameters, variables=variables) as stack:
        return asyncio.run(wake(stack.url))


def test_the_agent_is_woken_and_fetches_its_result_once(sign_in: SignIn) -> None:
    found = woken(sign_in, {"LOCAL_WEBHOOKS": "on"})

    assert isinstance(found.task, Completed)
    assert found.task.result.structured_content == {"item": "chair", "reserved_at_attempt": 1}
    assert (found.event["name"], found.event["data"]["status"]) == ("task.finished", "completed")
    assert found.challenges == 1
    assert "chair" not in json.dumps(found.event)


@pytest.mark.long
def test_without_the_flag_the_agent_is_told_why_it_is_not_woken(sign_in: SignIn) -> None:
    with pytest.raises(NotWoken, match="https://"):
        woken(sign_in, {})


def test_the_receiver_takes_nothing_with_a_wrong_signature() -> None:
    async def told() -> tuple[int, dict[str, str]]:
        with Receiver() as receiver:
            refused = await asyncio.to_thread(posted, receiver.url, "whsec_" + "YWJj" * 10, {"from": "a stranger"})
            await asyncio.to_thread(posted, receiver.url, receiver.secret, {"from": "the stack"})
            return refused, await receiver.event()

    assert asyncio.run(told()) == (401, {"from": "the stack"})


def posted(url: str, secret: str, event: dict[str, str]) -> int:
    """Post an event, signed with a secret; return the status of the answer."""
    body, at = json.dumps(event), datetime.now(UTC)
    headers = {
        "webhook-id": "one",
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign("one", at, body),
    }
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body.encode(), headers)) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
