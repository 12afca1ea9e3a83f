"""A caller subscribes to events of no tool that it may not call."""

from tests.kits import World
from tests.server.clients import ModernClient
from tests.server.test_scopes import CALL, REFUNDS, holding, world

__all__ = ["world"]


# M38
def test_who_may_not_call_a_tool_may_not_subscribe_to_it(world: World) -> None:
    wish = {"name": "task.finished", "arguments": {"tool": "refund"}}
    delivery = {"delivery": {"mode": "webhook", "url": "https://hooks.example/", "secret": "whsec_" + "YWJj" * 8}}

    refused = ModernClient(holding(world, CALL)).ask("events/subscribe", wish | delivery)
    allowed = ModernClient(holding(world, CALL, REFUNDS)).ask("events/subscribe", wish | delivery)

    assert refused.status == 403
    assert "id" in allowed.result
