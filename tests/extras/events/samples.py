"""For the tests of sample events: the one of function webhooks."""

from typing import Final

from tests.integration.samples import OfExtra, Sample

SAMPLES: Final = OfExtra({"extras/events/webhooks_due": Sample("WebhooksFunction", {"batchItemFailures": []})})
