"""For the tests of the template: what switches the extra off, and what it adds to functions of the core."""

from typing import Final

from tests.template.of_extras import InTemplate

_A_CALLER: Final = "?" * 32
TEMPLATE: Final = InTemplate(
    off={"Events": "off"},
    on={"Events": "on"},
    queues=("WebhookQueue",),
    variables={"WEBHOOK_QUEUE": "WebhookQueue"},
    partitions={"StatusChangesFunction.RecordEvents": [_A_CALLER], "WebhooksFunction.ReadEvents": [_A_CALLER]},
)
