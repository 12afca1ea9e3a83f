"""Asynchronous invocations: delivery of events to functions, with retries and dead-letter queues.

The rule is Lambda's: three attempts, then the function's dead-letter queue. The delays between attempts are shorter
than AWS's one and two minutes.
"""

import json
import logging
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable

from stepwire_local.iam.clients import aws_client
from stepwire_local.lambdas.functions import Function, is_registered
from stepwire_local.lambdas.invocations import Failed, Outcome, Returned, in_one_line
from stepwire_local.stubs.owners import name_of

logger = logging.getLogger(__name__)

RETRY_DELAYS = (0.1, 0.2)  # seconds

# Events that functions process at the same time; others queue, as in Lambda. Why so few: all share one interpreter, so
# more would not finish sooner, but time out together.
CONCURRENCY = 10

_LONGEST_ERROR = 1024  # characters of a message attribute
_NO_FUNCTION = ""  # in place of a function's ARN

_places = threading.BoundedSemaphore(CONCURRENCY)


_lock = threading.Lock()
_begun: Counter[str] = Counter()  # invocations so far, by the function's ARN
_pending: Counter[str] = Counter()  # those under way


def invoke_later(function: Function, event: str) -> None:
    """Invoke a function with an event, as JSON text, without waiting."""
    _begin(function.arn, lambda: _try_repeatedly(function, event))


def run_later(work: Callable[[], None]) -> None:
    """Do work that nobody waits for and that is no function's."""
    _begin(_NO_FUNCTION, work)


def is_idle(functions: Iterable[Function]) -> bool:
    """Return whether no asynchronous invocation of these functions is under way, and nothing that is no function's."""
    return not any(_pending[arn] for arn in (_NO_FUNCTION, *(function.arn for function in functions)))


def begun() -> int:
    """Return how many asynchronous invocations have begun so far, of all functions."""
    return _begun.total()


def _begin(arn: str, work: Callable[[], None]) -> None:
    with _lock:
        _begun[arn] += 1
        _pending[arn] += 1
    threading.Thread(target=_run, args=(arn, work), daemon=True).start()


def _run(arn: str, work: Callable[[], None]) -> None:
    try:
        work()
    finally:
        with _lock:
            _pending[arn] -= 1


def _try_repeatedly(function: Function, event: str) -> None:
    outcome = _in_turn(function, event)
    for delay in RETRY_DELAYS:
        if isinstance(outcome, Returned):
            return
        time.sleep(delay)
        outcome = _in_turn(function, event)
    # While a stack stops, its functions fail for that reason, and its queue disappears too.
    if isinstance(outcome, Failed) and is_registered(function):
        if function.settings.dead_letters is None:
            logger.error(
                "An event is lost: %s failed %d times, and has no DeadLetterQueue. %s",
                name_of(function.arn),
                len(RETRY_DELAYS) + 1,
                in_one_line(outcome),
            )
            return
        message = str(json.loads(outcome.payload)["errorMessage"])[:_LONGEST_ERROR]
        letter = {"RequestID": str(uuid.uuid4()), "ErrorCode": "200", "ErrorMessage": message or "-"}
        bury(function.settings.dead_letters, event, letter)


def _in_turn(function: Function, event: str) -> Outcome:
    with _places:
        return function.invoke(event)


def bury(arn: str, letter: str, attributes: dict[str, str]) -> None:
    """Send an undelivered event to a dead-letter queue, or to a topic."""
    _, _, service, region, _, name = arn.split(":")
    described = {key: {"DataType": "String", "StringValue": value} for key, value in attributes.items()}
    if service == "sns":
        aws_client("sns", region).publish(TopicArn=arn, Message=letter, MessageAttributes=described)
        return
    sqs = aws_client("sqs", region)
    url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody=letter, MessageAttributes=described)
