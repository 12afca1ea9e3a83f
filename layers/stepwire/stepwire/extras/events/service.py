"""Builds what function mcp needs for MCP Events, with the first such request."""

import os

from stepwire.aws.clients import sqs_client
from stepwire.aws.endpoints import HttpsEndpoints, sign
from stepwire.aws.queues import Doorbells
from stepwire.aws.settings import is_on, required
from stepwire.aws.storage.events import DynamoDbEventStore, DynamoDbSubscriptionStore
from stepwire.aws.storage.limiter import CallerUsage
from stepwire.aws.storage.table import Table
from stepwire.engine.assembly import Engine
from stepwire.engine.limiter import PROOFS, proof_places
from stepwire.principal import Principal
from stepwire.subscriptions.subscribing import LONGEST_PROOF, Events, Subscribing


def events_of(table: Table, engine: Engine) -> Events:
    """Return what serves MCP Events."""
    settings = engine.settings
    record, rate = DynamoDbEventStore(table), CallerUsage(table)
    allows_local = is_on(os.environ, "LOCAL_WEBHOOKS")

    def count_call(owner: Principal) -> None:
        refused = rate.count(owner, settings.limits, engine.recorder.clock.now())
        if refused is not None:
            raise settings.limits.error(refused)

    subscribing = Subscribing(
        record,
        DynamoDbSubscriptionStore(table),
        HttpsEndpoints(allows_local=allows_local, deadline=LONGEST_PROOF.total_seconds()),
        sign,
        lambda owner, ids: Doorbells(required(os.environ, "WEBHOOK_QUEUE"), sqs_client).ring(owner, ids),
        os.urandom,
        count_call,
        engine.limiter_of(PROOFS, proof_places(settings.waits)),
    )
    return Events(record, subscribing, allows_local)
