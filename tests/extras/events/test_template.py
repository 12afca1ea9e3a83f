"""What the template has for MCP Events, and only with the parameter Events."""

from tests.template.chosen import OFF, Stack, stack
from tests.template.document import template


def webhook_parts(made: Stack) -> set[str]:
    return {name for name in template()["Resources"] if name.startswith("Webhook") and made.has(name)}


def test_without_events_there_is_no_function_for_webhooks() -> None:
    own = {"WebhookQueue", "Webhooks", "WebhooksFunction", "WebhooksLogs"}

    assert webhook_parts(stack("none")) == own
    assert webhook_parts(stack("none", **OFF)) == set()
