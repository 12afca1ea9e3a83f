"""A simulated account without a template, for the proofs of the patches."""

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stepwire_local.account.engine import ACCOUNT
from stepwire_local.account.isolation import REGION
from stepwire_local.iam.clients import aws_client
from stepwire_local.lambdas.functions import Function, register
from stepwire_local.lambdas.invocations import FunctionSettings
from tests.waiting import until

ROLE = f"arn:aws:iam::{ACCOUNT}:role/test"
FOLDER = Path(__file__).parent / "stack" / "worker"

_numbers = itertools.count(1)


class Account:
    """The account; each resource that it creates has a unique name."""

    def __init__(self) -> None:
        self.workflows = aws_client("stepfunctions", REGION)
        self.queues = aws_client("sqs", REGION)
        self.tables = aws_client("dynamodb", REGION)
        self.rules = aws_client("events", REGION)

    def machine(self, *states: Mapping[str, Any], **settings: Any) -> str:
        """Create a state machine with these states in sequence; return its ARN."""
        names = [f"S{number}" for number in range(len(states))]
        nexts: list[dict[str, Any]] = [{"Next": name} for name in names[1:]] + [{"End": True}]
        return self.machine_of(
            {name: {**state, **then} for name, state, then in zip(names, states, nexts, strict=True)}, **settings
        )

    def machine_of(self, states: Mapping[str, Any], **settings: Any) -> str:
        """Create a state machine with these states, which name their next states; return its ARN."""
        definition = json.dumps({"StartAt": next(iter(states)), "States": states, **settings})
        name = f"machine-{next(_numbers)}"
        made = self.workflows.create_state_machine(name=name, definition=definition, roleArn=ROLE)
        return made["stateMachineArn"]

    def start(self, machine: str, given: Any = None, **settings: Any) -> str:
        """Start an execution, and return its ARN."""
        text = json.dumps({} if given is None else given)
        return self.workflows.start_execution(stateMachineArn=machine, input=text, **settings)["executionArn"]

    def describe(self, execution: str) -> Any:
        """Describe an execution."""
        return self.workflows.describe_execution(executionArn=execution)

    def ended(self, execution: str) -> Any:
        """Describe an execution once it has ended."""

        def look() -> Any:
            described = self.describe(execution)
            return None if described["status"] == "RUNNING" else described

        return until(look)

    def table(self, **settings: Any) -> str:
        """Create a table, by default with the key `pk`; return its name."""
        name = f"table-{next(_numbers)}"
        shape: dict[str, Any] = {
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        }
        self.tables.create_table(TableName=name, BillingMode="PAY_PER_REQUEST", **{**shape, **settings})
        return name

    def queue(self) -> str:
        """Create a queue, and return its URL."""
        return self.queues.create_queue(QueueName=f"queue-{next(_numbers)}")["QueueUrl"]

    def messages(self, queue: str, count: int = 1) -> list[Any]:
        """Return the bodies of the messages in a queue, as soon as there are this many."""
        seen: list[Any] = []

        def look() -> bool:
            received = self.queues.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
            seen.extend(json.loads(message["Body"]) for message in received.get("Messages", []))
            return len(seen) >= count

        until(look)
        return seen

    def rule_to(self, arn: str, pattern: Mapping[str, Any]) -> str:
        """Create a rule with one target, and return its name."""
        name = f"rule-{next(_numbers)}"
        self.rules.put_rule(Name=name, EventPattern=json.dumps(pattern))
        self.rules.put_targets(Rule=name, Targets=[{"Id": "target", "Arn": arn}])
        return name

    def function(self, folder: Path = FOLDER, **variables: str) -> Function:
        """Create a function from the code in a folder, by default the worker of the tests."""
        name = f"function-{next(_numbers)}"
        roles = aws_client("iam", REGION)
        trust = json.dumps({"Version": "2012-10-17", "Statement": []})
        role = roles.create_role(RoleName=name, AssumeRolePolicyDocument=trust)["Role"]["Arn"]
        code = {"ZipFile": b"PK\x05\x06" + bytes(18)}
        made = aws_client("lambda", REGION).create_function(
            FunctionName=name, Runtime="python3.13", Role=role, Handler="app.handler", Code=code
        )
        settings = FunctionSettings(
            name, made["FunctionArn"], folder, "app.handler", variables={"GREETING": "", **variables}
        )
        function = Function(settings)
        register(function)
        return function


class Answerer:
    """A function that gets task tokens; it answers them before it returns, or leaves them to the test."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._queue = account.queue()
        self._function = account.function(FOLDER.parents[1] / "answerer", AWS_REGION=REGION, QUEUE_URL=self._queue)

    def state(self, payload: Mapping[str, Any], **settings: Any) -> dict[str, Any]:
        """Return a state that passes its token and the execution's id to the function, and waits for the answer."""
        given = {"token": "{% $states.context.Task.Token %}", "execution": "{% $states.context.Execution.Id %}"}
        arguments = {"FunctionName": self._function.settings.arn, "Payload": {**given, **payload}}
        resource = "arn:aws:states:::lambda:invoke.waitForTaskToken"
        return {"Type": "Task", "QueryLanguage": "JSONata", "Resource": resource, "Arguments": arguments, **settings}

    def given(self, count: int = 1) -> list[Any]:
        """Return the function's new events, as soon as there are this many."""
        return self._account.messages(self._queue, count)


def waiting_for_a_token(queue: str) -> dict[str, Any]:
    """Return a state that sends its task token to a queue, and waits."""
    message = {"token.$": "$$.Task.Token"}
    parameters = {"QueueUrl": queue, "MessageBody": message}
    return {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken", "Parameters": parameters}
