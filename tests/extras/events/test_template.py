"""What the template has for MCP Events, and only with the parameter Events."""

from tests.template.chosen import OFF, Stack, stack
from tests.template.document import template


def webhook_parts(made: Stack) -> set[str]:
    return {name for name in template()["Resources"] if name.startswith("Webhook") and made.has(name)}


def test_without_events_there_is_no_function_for_webhooks() -> None:
    own = {"WebhookQueue", "Webhooks", "WebhooksFunction", "WebhooksLogs"}

    assert webhook_parts(stack("none")) == own
    assert webhook_parts(stack("none", **OFF)) == set()


def test_with_events_a_change_of_a_status_reaches_the_function_without_a_bus() -> None:
    filters = {
        name: stack("none", **off).properties("StatusChanges")["FilterCriteria"]["Filters"]
        for name, off in (("on", {}), ("off", OFF))
    }
    with_a_bus = stack("none", EventBus="default", **OFF).properties("StatusChanges")["FilterCriteria"]["Filters"]

    assert filters["on"] == with_a_bus
    assert filters["off"] != with_a_bus
