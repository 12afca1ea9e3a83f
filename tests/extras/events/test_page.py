"""The requests that docs/extras/events.md shows are understood as they stand there."""

import base64
import json
from typing import Final

from stepwire_local import LocalStack, at_once
from tests.adopted import ADOPTER
from tests.docs.pages import ROOT, page
from tests.integration.stacks import SIGN_IN, AwsCalls, Deployed
from tests.server.clients import ModernClient

SECRET: Final = "whsec_" + base64.b64encode(b"s" * 32).decode()


def test_the_page_s_requests_are_understood() -> None:
    subscribe, poll = (json.loads(block) for block in page(ROOT / "docs/extras/events.md").blocks("json"))
    subscribe["params"]["delivery"]["secret"] = SECRET  # the page leaves the reader's own out

    with LocalStack(ROOT / "stack.yaml", others=[ADOPTER], events=at_once, parameters=SIGN_IN) as stack:
        client = ModernClient(Deployed(stack, AwsCalls()))
        polled = client.ask(poll["method"], poll["params"])
        subscribed = client.ask(subscribe["method"], subscribe["params"])

    assert polled.result["events"] == []
    assert subscribed.error["code"] == -32015, "agent.example.com does not exist: nothing else is wrong"
