"""`stepwire caller show` and `export`: what they say of webhook subscriptions and recorded events."""

import json
from datetime import UTC, datetime, timedelta

from packages.command.tests.operated import OWNER, Stepwire, moment
from stepwire.aws.storage.table import Item, in_milliseconds
from stepwire.codec import encode, encode_without
from stepwire.extras.events.events import FINISHED, Filter, Position
from stepwire.extras.events.store import subscription_in
from stepwire.extras.events.subscription import Subscription
from stepwire_cli.exits import Exit
from tests.extras.callers.test_erasing_command import holding

CHANGE: Item = {
    "pk": {"S": OWNER},
    "sk": {"S": "change#000000000000001"},
    "event": {"S": '{"data":{"tool":"a"}}'},
    "at": in_milliseconds(moment()),
}


def subscription() -> Item:
    one = Subscription(
        OWNER, Filter(FINISHED), "https://hooks.example/", "whsec_secret", datetime.now(UTC) + timedelta(days=1),
        Position(1, moment()),
    )  # fmt: skip
    single = {name: {"S": encode(getattr(one, name))} for name in ("wanted", "position", "standing")}
    terms = {"S": encode_without(("owner", *single), one)}
    item: Item = {"pk": {"S": OWNER}, "sk": {"S": f"events#sub#{one.id}"}, "terms": terms, **single}
    assert subscription_in(item) == one
    return item


def test_a_subscription_is_shown_without_its_endpoint(in_account: Stepwire) -> None:
    code, out, _ = in_account(holding(subscription()), "caller", "show", OWNER)

    lines = out.splitlines()
    assert (code, lines[2]) == (Exit.DONE, "subscriptions  1")
    assert " task.finished  active until " in lines[3]
    assert "hooks.example" not in out


def test_a_caller_without_subscriptions_is_shown(in_account: Stepwire) -> None:
    _, out, _ = in_account(holding(), "caller", "show", OWNER)

    assert out == f"caller     {OWNER}, not blocked\ntasks      none\nsubscriptions  none\n"


def test_events_and_subscriptions_are_exported_without_the_keys_that_sign(in_account: Stepwire) -> None:
    aws = holding(subscription(), CHANGE)
    aws.answers["ListObjectsV2"] = []

    _, out, said = in_account(aws, "caller", "export", OWNER)

    lines = [json.loads(line) for line in out.splitlines()]
    assert [one["kind"] for one in lines] == ["event", "subscription", "audit"]
    assert lines[0]["event"] == {"data": {"tool": "a"}}
    assert lines[1]["url"] == "https://hooks.example/"
    assert lines[1]["deliveryStatus"]["active"] is True
    assert "whsec_secret" not in out
    assert "2 things are held" in said
