"""`stepwire replay`: where its messages go, and that it ends although they become visible again while it runs."""

import io
import json
from dataclasses import dataclass, field
from typing import Any

from stepwire_cli.operate.dead_letters import Fate, Replay, Stack
from tests.recorded import recorded

EVENT: dict[str, Any] = {"source": "aws.ssm", "detail-type": "Parameter Store Change", "detail": {}}
PARTS = Stack("queue", "execution_events", "expirations", "catalog")


@dataclass
class SlowAccount:
    """A queue, and a function that takes 100 seconds to fail."""

    messages: dict[str, float]
    """By their ids: when each is visible again."""
    event: dict[str, Any] = field(default_factory=lambda: EVENT)
    now: float = 0.0
    invoked: list[str] = field(default_factory=list[str])

    def client(self, _service: str) -> Any:
        return self

    def receive_message(self, VisibilityTimeout: int, **_: Any) -> Any:  # noqa: N803
        visible = [name for name, at in self.messages.items() if at <= self.now]
        self.messages |= dict.fromkeys(visible, self.now + VisibilityTimeout)
        return {
            "Messages": [{"MessageId": name, "ReceiptHandle": name, "Body": json.dumps(self.event)} for name in visible]
        }

    def invoke(self, FunctionName: str, **_: Any) -> Any:  # noqa: N803
        self.now += 100
        self.invoked.append(FunctionName)
        return {"FunctionError": "Unhandled", "Payload": io.BytesIO(b"{}")}


def test_a_replay_that_takes_longer_than_messages_are_hidden_delivers_each_once_and_ends() -> None:
    account = SlowAccount(dict.fromkeys("abcde", 0.0))

    letters = list(Replay(PARTS, account).run())

    assert [(one.message_id, one.fate) for one in letters] == [(name, Fate.FAILED) for name in "abcde"]
    assert account.invoked == ["catalog"] * 5


def test_a_scheduled_run_goes_to_function_catalog_because_the_sweep_has_no_dead_letters() -> None:
    account = SlowAccount({"a": 0.0}, recorded("schedule"))

    list(Replay(PARTS, account).run())

    assert account.invoked == ["catalog"]
