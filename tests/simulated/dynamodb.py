"""moto's DynamoDB without moto's HTTP layer, which takes most of the time of a call.

A call that moto rejects is repeated through that layer, which writes the errors; a rejected call changes nothing.
"""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from moto.core.models import botocore_stubber
from moto.core.utils import camelcase_to_underscores
from moto.dynamodb.responses import DynamoHandler

from stepwire.aws.clients import dynamodb_client
from stepwire_local.account.engine import ACCOUNT
from stepwire_local.account.isolation import REGION
from stepwire_local.account.moto_patches.dynamodb import turns
from tests.simulated.wire import answered

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def quick_dynamodb_client() -> "DynamoDBClient":
    """Return a client of the simulated account's DynamoDB."""
    return client_answered_by(_answer)


def client_answered_by(handler: Callable[..., AWSResponse | None]) -> "DynamoDBClient":
    """Return a client of DynamoDB whose calls are answered by a handler of botocore's event `before-send`."""
    client = dynamodb_client()
    events: Any = client.meta.events
    # botocore runs all registered handlers, so each call would be made twice
    events.unregister("before-send", botocore_stubber)
    events.register_first("before-send", handler)
    return client


def _answer(event_name: str, request: AWSPreparedRequest, **_: Any) -> AWSResponse | None:
    return answer(event_name.rpartition(".")[2], request) or botocore_stubber(event_name, request)


def answer(operation: str, request: AWSPreparedRequest) -> AWSResponse | None:
    """Answer a call; None if moto rejects it."""
    handler: Any = DynamoHandler()
    handler.current_account, handler.region = ACCOUNT, REGION
    handler.body = json.loads(cast(Any, request.body))
    with turns:
        try:
            result: Any = getattr(handler, camelcase_to_underscores(operation))()
        except Exception:  # noqa: BLE001 - whatever it is, moto's HTTP layer writes it
            return None
        return answered(request, 200, result.result)
