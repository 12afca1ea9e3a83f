"""Builds what function mcp needs for MCP Events, with the first such request."""

import os
from collections.abc import Callable

from stepwire.aws.clients import dynamodb_client, sqs_client
from stepwire.aws.publishing.doorbells import Doorbells
from stepwire.aws.publishing.endpoints import HttpsEndpoints
from stepwire.aws.publishing.signatures import sign
from stepwire.aws.settings import McpSettings, read_allows_local, read_webhook_queue
from stepwire.aws.storage.call_rate import DynamoDbCallRate
from stepwire.aws.storage.event_store import DynamoDbEventStore
from stepwire.aws.storage.subscription_store import DynamoDbSubscriptionStore
from stepwire.aws.storage.wait_slots import DynamoDbWaitSlots
from stepwire.engine.admission import limit_reached
from stepwire.engine.recorder import Recorder
from stepwire.engine.waiting import PROOFS, WaitLimiter
from stepwire.errors import NotAdmitted
from stepwire.principal import Principal
from stepwire.subscriptions.subscribing import LONGEST_PROOF, Events, Subscribing


def events_of(settings: McpSettings, recorder: Recorder, report: Callable[[Exception], None]) -> Events:
    """Return what serves MCP Events."""
    wait_slots = DynamoDbWaitSlots(settings.table_name, dynamodb_client)
    limiter = WaitLimiter(wait_slots, settings.waits.of_proofs(), os.urandom, report, PROOFS)
    record = DynamoDbEventStore(settings.table_name, dynamodb_client)
    rate = DynamoDbCallRate(settings.table_name, dynamodb_client)
    allows_local = read_allows_local(os.environ)

    def count_call(owner: Principal) -> None:
        try:
            rate.count(owner, settings.limits, recorder.now())
        except NotAdmitted as refused:
            raise limit_reached(refused.refusal, settings.limits) from None

    subscribing = Subscribing(
        record,
        DynamoDbSubscriptionStore(settings.table_name, dynamodb_client),
        HttpsEndpoints(allows_local=allows_local, deadline=LONGEST_PROOF.total_seconds()),
        sign,
        lambda owner, ids: Doorbells(read_webhook_queue(os.environ), sqs_client).ring(owner, ids),
        os.urandom,
        count_call,
        limiter,
    )
    return Events(record, subscribing, allows_local)
