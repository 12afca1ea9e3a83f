"""Delivers an event to what an ARN names: a function, a queue, a state machine or a topic.

The rule is AWS's: whoever causes an event neither waits for its delivery nor fails with it. What cannot be delivered
goes to the dead-letter queue, or a line says that it is lost.
"""

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Final

from botocore.exceptions import ClientError

from stepwire_local.account.rule_inputs import input_of
from stepwire_local.activity import Activity, Kind, tell
from stepwire_local.iam.clients import aws_client, plain_aws_client
from stepwire_local.iam.permissions import acting_as, registered
from stepwire_local.lambdas import functions
from stepwire_local.lambdas.asynchronous import bury, invoke_later
from stepwire_local.stubs.owners import name_of

logger = logging.getLogger(__name__)

_REGION: Final = 3  # a part of an ARN
_NAME: Final = 5


@dataclass(frozen=True)
class Cause:
    """What an event comes from."""

    kind: Kind
    arn: str
    about: str = ""  # what the event says, in a few words

    @property
    def name(self) -> str:
        """Return the name that a template gives it, or the end of the ARN."""
        return name_of(self.arn)


@dataclass(frozen=True)
class Target:
    """What gets an event."""

    arn: str
    role: str | None = None  # ARN of the role that makes the call; None: AWS's own service makes it
    dead_letters: str | None = None  # ARN of a queue
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])  # of the call, beside the event

    @property
    def service(self) -> str:
        """Return its service as ARNs name it."""
        return f"{self.arn}::".split(":")[2]

    @property
    def region(self) -> str:
        """Return its Region."""
        return self.arn.split(":")[_REGION]


def deliver(target: Target, event: str, cause: Cause) -> None:
    """Deliver an event, as JSON text."""
    tell(Activity(cause.kind, cause.name, name_of(target.arn), cause.about))
    try:
        with _role_of(target):
            _SERVICES[target.service](target, event)
    except (ClientError, LookupError) as error:
        code = (
            error.response.get("Error", {}).get("Code", "") if isinstance(error, ClientError) else "RESOURCE_NOT_FOUND"
        )
        give_up(target, event, cause, _words_of(error), code)


def deliver_to_target_of_rule(target: Mapping[str, Any], event: Mapping[str, Any], cause: Cause) -> None:
    """Deliver an event to a target of a rule, as its template describes it, with the input that it asks for."""
    deliver(target_of(target, target.get("RoleArn")), input_of(target, event, cause.arn), cause)


def target_of(described: Mapping[str, Any], role: str | None) -> Target:
    """Return a target of a rule or a schedule as its template describes it."""
    group = described.get("SqsParameters", {}).get("MessageGroupId")
    settings = {"MessageGroupId": group} if group else {}
    return Target(described["Arn"], role, described.get("DeadLetterConfig", {}).get("Arn"), settings)


def give_up(target: Target, event: str, cause: Cause, why: str, code: str) -> None:
    """Send an event that cannot be delivered to the dead-letter queue, or say that it is lost."""
    lost = "" if target.dead_letters else " The event is lost for want of a dead-letter queue."
    logger.warning("The %s %s cannot reach %s: %s.%s", cause.kind, cause.name, name_of(target.arn), why, lost)
    if target.dead_letters:
        bury(target.dead_letters, event, {"RULE_ARN": cause.arn, "TARGET_ARN": target.arn, "ERROR_CODE": code})


def can_get_events(arn: str) -> bool:
    """Return whether events can be delivered to what an ARN names."""
    return Target(arn).service in _SERVICES


def _role_of(target: Target) -> AbstractContextManager[None]:
    """Make the calls of the block under the target's role; without one, under none, whichever function runs."""
    return acting_as(registered(target.role) if target.role else None)


def _words_of(error: ClientError | LookupError) -> str:
    return str(error).rstrip(".") if isinstance(error, ClientError) else "it does not exist"


def _invoke(target: Target, event: str) -> None:
    if target.role is None:
        invoke_later(functions.registered(target.arn), event)
        return
    client = plain_aws_client("lambda", target.region)  # which asks whether the role may
    client.invoke(FunctionName=target.arn, InvocationType="Event", Payload=event)


def _send(target: Target, event: str) -> None:
    url = aws_client("sqs", target.region).get_queue_url(QueueName=target.arn.split(":")[_NAME])["QueueUrl"]
    sqs: Any = plain_aws_client("sqs", target.region)
    sqs.send_message(QueueUrl=url, MessageBody=event, **target.settings)


def _start(target: Target, event: str) -> None:
    plain_aws_client("stepfunctions", target.region).start_execution(stateMachineArn=target.arn, input=event)


def _publish(target: Target, event: str) -> None:
    plain_aws_client("sns", target.region).publish(TopicArn=target.arn, Message=event, **target.settings)


_SERVICES: Final[Mapping[str, Callable[[Target, str], None]]] = {
    "lambda": _invoke,
    "sns": _publish,
    "sqs": _send,
    "states": _start,
}
