"""A receiver cannot tell our deliveries from those of `mcp-webhook-events`, which was tried with ChatGPT."""

import importlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
from standardwebhooks.webhooks import Webhook

from stepwire.errors import InvalidParams
from stepwire.extras.events.events import FINISHED
from stepwire.extras.events.subscription import check_secret
from tests.extras.events.built import fakes_of
from tests.extras.events.event_types import listed
from tests.extras.events.fakes import Post, echo
from tests.extras.events.test_polls import ended, tell
from tests.extras.events.test_webhooks import BAD_SECRETS, SECRET, URL, deliver, wish
from tests.kits import World
from tests.server.clients import ModernClient

# It has no types.
library: Any = importlib.import_module("mcp_webhook_events")


class Recorder:
    """Stands in for the library's HTTP client: records requests, and echoes challenges."""

    def __init__(self) -> None:
        self.posts: list[Post] = []

    def check_url(self, _: str) -> None:
        """Allow every URL."""

    def post(self, url: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        post = Post(url, {name.lower(): value for name, value in headers.items()}, body.decode())
        self.posts.append(post)
        return 200, echo(post).body


@pytest.fixture
def theirs(tmp_path: Path, ours: list[Post]) -> list[Post]:
    """What the library sends for a subscription and one event."""
    shown = next(one for one in listed(("webhook",)) if one["name"] == FINISHED)
    definition = library.EventDefinition(FINISHED, shown["description"], shown["inputSchema"], shown["payloadSchema"])
    made = library.McpEvents(None, store=str(tmp_path / "events.sqlite3"), definitions=[definition])
    made.http = recorder = Recorder()
    made.subscribe("alice", wish())
    made.publish(FINISHED, ours[-1].body["data"])
    made.deliver_pending()
    return recorder.posts


@pytest.fixture
def ours() -> list[Post]:
    """What Stepwire sends for the same."""
    world = World()
    ModernClient(world).ask("events/subscribe", wish())
    tell(world, ended(world))
    deliver(world)
    return fakes_of(world).endpoints.posts


OPTIONAL: Final = {"user-agent"}


def test_both_send_the_same_kinds_of_requests(ours: list[Post], theirs: list[Post]) -> None:
    assert len(ours) == len(theirs) == 2
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.headers.keys() - OPTIONAL == other.headers.keys() - OPTIONAL
        assert mine.body.keys() == other.body.keys()
        assert mine.url == other.url == URL


@pytest.mark.parametrize("whose", ["ours", "theirs"])
def test_the_library_of_standard_webhooks_verifies_both(whose: str, request: pytest.FixtureRequest) -> None:
    posts: list[Post] = request.getfixturevalue(whose)
    webhook: Any = Webhook(SECRET)

    def of_any_day(text: str) -> datetime:
        return datetime.fromtimestamp(int(text), UTC)

    webhook._Webhook__verify_timestamp = of_any_day  # the messages of our tests are of another day

    assert [webhook.verify(post.text, dict(post.headers)) == json.loads(post.text) for post in posts] == [True] * 2


@pytest.mark.parametrize("secret", [SECRET, *BAD_SECRETS.values()])
def test_both_take_the_same_secrets(secret: Any) -> None:
    try:
        taken = check_secret(secret) == secret
    except InvalidParams:
        taken = False

    assert taken == bool(library.valid_secret(secret))
