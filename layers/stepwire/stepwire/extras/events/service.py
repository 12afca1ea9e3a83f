"""Builds what function mcp needs for MCP Events, with the first such request."""

import os

from stepwire.aws.clients import sqs_client
from stepwire.aws.settings import is_on, required
from stepwire.aws.storage.limiter import CallerUsage
from stepwire.extras.events.doorbells import Doorbells
from stepwire.extras.events.endpoints import HttpsEndpoints, sign
from stepwire.extras.events.store import DynamoDbEventStore, DynamoDbSubscriptionStore
from stepwire.extras.events.subscribing import LONGEST_PROOF, PROOFS, Events, Subscribing, proof_places
from stepwire.hooks import Ground
from stepwire.principal import Principal


def events_on(ground: Ground) -> Events:
    """Return what serves MCP Events."""
    table, engine, environment = ground.table, ground.engine, ground.environment
    settings, rate, record = engine.settings, CallerUsage(table), DynamoDbEventStore(table)
    allows_local = is_on(environment, "LOCAL_WEBHOOKS")

    def count_call(owner: Principal) -> None:
        refused = rate.count(owner, settings.limits, engine.recorder.clock.now())
        if refused is not None:
            raise settings.limits.error(refused)

    subscribing = Subscribing(
        record,
        DynamoDbSubscriptionStore(table),
        HttpsEndpoints(allows_local=allows_local, deadline=LONGEST_PROOF.total_seconds()),
        sign,
        lambda owner, ids: Doorbells(required(environment, "WEBHOOK_QUEUE"), sqs_client).ring(owner, ids),
        os.urandom,
        count_call,
        engine.limiter_of(PROOFS, proof_places(settings.waits)),
    )
    return Events(record, subscribing, allows_local)
