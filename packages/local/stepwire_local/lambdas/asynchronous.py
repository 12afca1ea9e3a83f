"""Asynchronous invocations: delivery of events to functions, with retries and dead-letter queues.

The rules are Lambda's and EventBridge's: three attempts, then the function's dead-letter queue; an event for a missing
function goes to the rule's queue. The delays between attempts are shorter than AWS's one and two minutes.
"""

import json
import logging
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterable

from stepwire_local.iam.clients import aws_client
from stepwire_local.lambdas.functions import Function, is_registered, registered
from stepwire_local.lambdas.invocations import Failed, Outcome, Returned

logger = logging.getLogger(__name__)

RETRY_DELAYS = (0.1, 0.2)  # seconds

# Events that functions process at the same time; others queue, as in Lambda. Why so few: all share one interpreter, so
# more would not finish sooner, but time out together.
CONCURRENCY = 10

_LONGEST_ERROR = 1024  # characters of a message attribute

_places = threading.BoundedSemaphore(CONCURRENCY)


_lock = threading.Lock()
_begun: Counter[str] = Counter()  # invocations so far, by the function's ARN
_pending: Counter[str] = Counter()  # those under way


def invoke_later(function: Function, event: str) -> None:
    """Invoke a function with an event, as JSON text, without waiting."""
    with _lock:
        _begun[function.arn] += 1
        _pending[function.arn] += 1
    threading.Thread(target=_work, args=(function, event), daemon=True).start()


def is_idle(functions: Iterable[Function]) -> bool:
    """Return whether no asynchronous invocation of these functions is under way."""
    return not any(_pending[function.arn] for function in functions)


def begun() -> int:
    """Return how many asynchronous invocations have begun so far, of all functions."""
    return _begun.total()


def _work(function: Function, event: str) -> None:
    try:
        _try_repeatedly(function, event)
    finally:
        with _lock:
            _pending[function.arn] -= 1


def deliver(arn: str, event: str, *, rule_arn: str, dead_letters: str | None) -> None:
    """Invoke the target of a rule, without waiting; `dead_letters` is the ARN of the rule's queue."""
    try:
        function = registered(arn)
    except KeyError:
        logger.warning("The target %s of rule %s does not exist.", arn, rule_arn)
        bury(dead_letters, event, {"RULE_ARN": rule_arn, "TARGET_ARN": arn, "ERROR_CODE": "RESOURCE_NOT_FOUND"})
        return
    invoke_later(function, event)


def _try_repeatedly(function: Function, event: str) -> None:
    outcome = _in_turn(function, event)
    for delay in RETRY_DELAYS:
        if isinstance(outcome, Returned):
            return
        time.sleep(delay)
        outcome = _in_turn(function, event)
    # While a stack stops, its functions fail for that reason, and its queue disappears too.
    if isinstance(outcome, Failed) and is_registered(function):
        message = str(json.loads(outcome.payload)["errorMessage"])[:_LONGEST_ERROR]
        letter = {"RequestID": str(uuid.uuid4()), "ErrorCode": "200", "ErrorMessage": message or "-"}
        bury(function.settings.dead_letters, event, letter)


def _in_turn(function: Function, event: str) -> Outcome:
    with _places:
        return function.invoke(event)


def bury(queue_arn: str | None, letter: str, attributes: dict[str, str]) -> None:
    """Send an undelivered event to a dead-letter queue; without a queue, log that it is lost."""
    if queue_arn is None:
        logger.error("An event is lost for want of a dead-letter queue: %s", attributes)
        return
    region, name = queue_arn.split(":")[3], queue_arn.split(":")[5]
    sqs = aws_client("sqs", region)
    described = {key: {"DataType": "String", "StringValue": value} for key, value in attributes.items()}
    url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody=letter, MessageAttributes=described)
