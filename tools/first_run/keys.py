"""Trials of keys: one for all that an endpoint stores, and one of a state machine's owner."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from stepwire_cli.account.calls import Calls
from stepwire_cli.deployment.stack import Stack
from stepwire_local.cloudformation.template import read
from tests.docs.pages import ROOT, page
from tools.first_run.account import OF_THE_ACCOUNT, PROPAGATION, TEMPLATES, Account
from tools.first_run.trial import Seen, so

_RIGHTS: Final = ("kms:Decrypt", "kms:GenerateDataKey")
_STATES: Final = ("StartExecution", "DescribeExecution", "GetExecutionHistory", "DescribeStateMachine", "StopExecution")


def key_policy(account: str, region: str) -> dict[str, Any]:
    """Return KMS's default statement, and the two of the page."""
    text = page(ROOT / "docs/deploying.md").text.partition("## A key of your own\n")[2]
    (block,) = re.findall(r"```text\n(.*?)```", text.partition("\n## ")[0], re.DOTALL)
    said = block.replace("REGION", region).replace("ACCOUNT", account)
    default = {"Sid": "Default", "Effect": "Allow", "Principal": OF_THE_ACCOUNT, "Action": "kms:*", "Resource": "*"}
    return {"Version": "2012-10-17", "Statement": [default, *(json.loads(one) for one in re.split(r"\n(?=\{)", said))]}


def of_the_endpoint(account: Account) -> Seen:
    """Give the endpoint a key, and call the tool."""
    key = _made(account).outputs["Key"]
    with account.changed(KmsKeyArn=key) as stack:
        task = account.called(account.served(stack))
        name = account.resource(stack, "TasksTable")
        table = account.calls.call("dynamodb", "DescribeTable", TableName=name)["Table"]
    found = table.get("SSEDescription", {}).get("KMSMasterKeyArn", "no key")
    return so(
        found == key, f"the stack took the key and gave it back; with it task {task} ended; the table had {found}"
    )


def of_a_state_machine(account: Account) -> Seen:
    """Make each call with none of the rights on the key, with one, and with both."""
    stack = _made(account)
    machine, caller = stack.outputs["Machine"], stack.outputs["Caller"]
    account.clock.sleep(PROPAGATION * account.clock.minute)
    allowed: dict[str, list[set[str]]] = {name: [] for name in _STATES}
    for rights in ((), _RIGHTS[:1], _RIGHTS[1:], _RIGHTS):
        account.clock.sleep(account.clock.minute)  # Step Functions reuses a data key for so long
        policy = [{"Effect": "Allow", "Action": one, "Resource": "*"} for one in ("states:*", *rights)]
        calls = account.as_role(caller, {"Version": "2012-10-17", "Statement": policy})
        for name, act in _calls(account, calls, machine).items():
            if not act():
                allowed[name].append(set(rights))
    needs = {name: _least(some) for name, some in allowed.items()}
    enough = all(set(_RIGHTS) in some for some in allowed.values())
    return so(enough, "; ".join(f"{name} needs {what}" for name, what in needs.items()))


def _made(account: Account) -> Stack:
    template = read(TEMPLATES / "key.yaml")
    template["Resources"]["Key"]["Properties"]["KeyPolicy"] = key_policy(account.number, account.region)
    return account.side_stack("key", template)


def _calls(account: Account, calls: Calls, machine: str) -> Mapping[str, Callable[[], str]]:
    """Return the calls by their names; each returns why it is refused."""
    run = account.calls.call("stepfunctions", "StartExecution", stateMachineArn=machine)["executionArn"]
    given: dict[str, dict[str, Any]] = {
        "StartExecution": {"stateMachineArn": machine, "input": "{}"},
        "DescribeStateMachine": {"stateMachineArn": machine},
    }

    def call(name: str) -> Callable[[], str]:
        return lambda: account.refused(calls, "stepfunctions", name, **given.get(name, {"executionArn": run}))

    return {name: call(name) for name in _STATES}


def _least(some: list[set[str]]) -> str:
    """Return in words what is enough; the least of them come first."""
    return (" and ".join(sorted(some[0])) or "neither") if some else "more than both"
