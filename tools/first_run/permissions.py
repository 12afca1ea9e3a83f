"""Trials of the permissions in docs/deploying.md: a role with these alone deploys, and removes."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from stepwire_cli.deployment import removing
from stepwire_cli.deployment.stack import Readiness, described
from stepwire_cli.exits import Exit
from tests.docs.pages import ROOT, page
from tools.first_run.account import OF_THE_ACCOUNT, PROPAGATION, Account, Failed
from tools.first_run.trial import Seen, not_here, so

MOST_OF_A_POLICY: Final = 6_144
"""Characters of a managed policy without its spaces, which IAM does not count."""
_ACTION: Final = re.compile(r"`([\w-]+:[\w*]+)`")
_PASSED_TO: Final = ("lambda", "codedeploy", "events", "firehose", "logs", "apigateway")
_DENIED: Final = re.compile(r"(?:not authorized to perform:?|may not) ([\w-]+:\w+)")


def rows() -> dict[str, list[str]]:
    """Return the actions of each row of the page, by what they are for."""
    text = page(ROOT / "docs/deploying.md").text.partition("## Permissions to deploy\n")[2].partition("\n## ")[0]
    table = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {cells[0]: _ACTION.findall(cells[1]) for cells in table if _ACTION.findall(cells[1])}


def statements() -> Iterator[dict[str, Any]]:
    """Yield a statement for each row; a role may be passed only to the services that the page names."""
    for actions in rows().values():
        plain = [one for one in dict.fromkeys(actions) if one != "iam:PassRole"]
        yield {"Effect": "Allow", "Action": plain, "Resource": "*"}
    services = [f"{name}.amazonaws.com" for name in _PASSED_TO]
    condition = {"StringEquals": {"iam:PassedToService": services}}
    yield {"Effect": "Allow", "Action": ["iam:PassRole"], "Resource": "*", "Condition": condition}


def policies() -> list[dict[str, Any]]:
    """Return the statements as few policies, each small enough for IAM."""
    found = list[list[dict[str, Any]]]()
    for one in statements():
        if not found or _size([*found[-1], one]) > MOST_OF_A_POLICY:
            found.append([])
        found[-1].append(one)
    return [_policy(some) for some in found]


def role() -> dict[str, Any]:
    """Return the template of a role with these policies, which the account may assume."""
    trust = {"Effect": "Allow", "Principal": OF_THE_ACCOUNT, "Action": "sts:AssumeRole"}
    made = {
        f"Policy{number}": {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": policy}}
        for number, policy in enumerate(policies(), 1)
    }
    given = {"AssumeRolePolicyDocument": _policy([trust]), "ManagedPolicyArns": [{"Ref": name} for name in made]}
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "A role with the permissions of docs/deploying.md. Of the first run.",
        "Resources": {**made, "Deployer": {"Type": "AWS::IAM::Role", "Properties": given}},
        "Outputs": {"Role": {"Value": {"Fn::GetAtt": ["Deployer", "Arn"]}}},
    }


def deploy(account: Account) -> Seen:
    """Deploy the endpoint as a role with the page's permissions; without success, the others deploy as the caller."""
    arn = account.side_stack("deployer", role()).outputs["Role"]
    calls = account.as_role(arn)
    account.clock.sleep(PROPAGATION * account.clock.minute)
    count, size = len({one for some in rows().values() for one in some}), len(policies())
    try:
        account.deploy(account.main, calls)
    except Failed as error:
        lacking = ", ".join(sorted(set(_DENIED.findall(str(error)))))
        return so(is_so=False, evidence=f"{lacking and f'lacks {lacking}: '}{error}")
    account.role = arn
    return so(is_so=True, evidence=f"a role with these {count} actions, in {size} managed policies, made the stack")


def remove(account: Account) -> Seen:
    """Remove the endpoint with its data, as the role with the page's permissions."""
    if not account.role:
        return not_here("the role could not deploy, so it is not asked to remove")
    if described(account.calls, account.main).readiness is Readiness.ABSENT:
        return not_here("there is no endpoint to remove")
    options = removing.Removal(account.main, with_data=True, agree=lambda _: True, sleep=account.clock.sleep)
    code = removing.destroy(options, account.deployer(), account.screen)
    left = "" if code == Exit.DONE else account.why(account.main)
    return so(not left, left or "the same role deleted the stack, its table and its bucket")


def _policy(some: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(some)}


def _size(some: Sequence[Mapping[str, Any]]) -> int:
    return len(json.dumps(_policy(some), separators=(",", ":")))
