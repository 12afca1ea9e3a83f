"""The policy of a user pool that says which client ID metadata documents it accepts (CIMD).

Cognito has it since November 2026, and CloudFormation cannot make it. botocore 1.44.5 does not know its operations, so
their names and members are taken from the installed botocore's model, and never guessed: AWS's documents at hand name
`CreateCIMDPolicy` and `UpdateCIMDPolicy`, and not how the wire spells each member.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import botocore

from stepwire_cli.account.calls import Calls
from stepwire_cli.account.endpoint import Endpoint
from stepwire_cli.account.errors import AccountError, NotThere

NAME: Final = "stepwire"
"""Name of the policy."""
_SERVICE: Final = "cognito-idp"


class NotKnown(AccountError):
    """The installed boto3 does not know the operations."""


@dataclass(frozen=True)
class Pool:
    """The user pool of a stack."""

    pool_id: str
    client_id: str
    announces: bool | None
    """Whether hosts are told that it takes documents; None: the stack has no such parameter."""


@dataclass(frozen=True)
class Policy:
    """A policy that is there."""

    policy_id: str
    client_id: str
    patterns: tuple[str, ...]


def pool_of(stack: str, calls: Calls) -> Pool:
    """Return the user pool of a stack.

    Raises:
        AccountError: there is no such stack, or it has no user pool.
    """
    endpoint = Endpoint(calls, stack)
    pool_id, client_id = endpoint.output("UserPool"), endpoint.output("ClientId")
    if not pool_id or not client_id:
        raise NotThere(f"{stack}: it has no user pool; set-up is for a stack with Authorizer=cognito")
    announces = endpoint.parameter("ClientDocuments")
    return Pool(pool_id, client_id, announces == "announce" if announces else None)


def registers(pool: Pool, calls: Calls) -> bool:
    """Tell whether the pool lets clients register themselves."""
    found = calls.call(_SERVICE, "DescribeUserPool", UserPoolId=pool.pool_id)["UserPool"]
    return found.get("DcrConfiguration", {}).get("EnableStatus") == "Enabled"


@dataclass(frozen=True)
class Policies:
    """The policies of a pool."""

    pool: Pool
    calls: Calls

    def ours(self) -> Policy | None:
        """Return the policy that has our name, if it is there.

        Raises:
            AccountError: NotKnown, or it cannot be read.
        """
        operation, _ = self._operation("List")
        page, token = self._call(operation, {"userpoolid": self.pool.pool_id, "maxresults": 60}), ""
        while True:
            for one in _objects(page):
                if one.get("policyname") == NAME:
                    return self._whole(one)
            token = str(_lowered(page).get("nexttoken") or "")
            if not token:
                return None
            page = self._call(operation, {"userpoolid": self.pool.pool_id, "maxresults": 60, "nexttoken": token})

    def create(self, patterns: Sequence[str]) -> None:
        """Make the policy.

        Raises:
            AccountError: it was refused.
        """
        self._call(self._operation("Create")[0], self._wanted(patterns))

    def update(self, policy: Policy, patterns: Sequence[str]) -> None:
        """Give the policy other documents, and our client.

        Raises:
            AccountError: it was refused.
        """
        self._call(self._operation("Update")[0], {**self._wanted(patterns), "cimdpolicyid": policy.policy_id})

    def command(self, patterns: Sequence[str]) -> str:
        """Return the command of the AWS CLI that makes the policy."""
        words = ["aws", _SERVICE, "create-cimd-policy", "--user-pool-id", self.pool.pool_id]
        words += ["--client-id", self.pool.client_id, "--policy-name", NAME, "--url-patterns", *patterns]
        return shlex.join(words)

    def _wanted(self, patterns: Sequence[str]) -> dict[str, Any]:
        return {
            "userpoolid": self.pool.pool_id,
            "clientid": self.pool.client_id,
            "policyname": NAME,
            "urlpatterns": list(patterns),
        }

    def _whole(self, found: Mapping[str, Any]) -> Policy:
        """Return a policy of a list, whose rows may be without patterns."""
        policy_id = str(found.get("cimdpolicyid"))
        if "urlpatterns" not in found:
            given = {"userpoolid": self.pool.pool_id, "cimdpolicyid": policy_id}
            answer = self._call(self._operation("Describe|Get")[0], given)
            found = [*_objects({"all": list(answer.values())}), dict[str, Any]()][0]
        return Policy(policy_id, str(found.get("clientid")), tuple(map(str, found.get("urlpatterns") or ())))

    def _operation(self, verb: str) -> tuple[str, tuple[str, ...]]:
        """Return an operation of the installed boto3, and the members of its request."""
        for name, members in self.calls.requests(_SERVICE).items():
            if re.fullmatch(rf"({verb})CIMDPolic(y|ies)", name, re.IGNORECASE):
                return name, members
        raise NotKnown(
            f"boto3 with botocore {botocore.__version__} does not know how to {verb.partition('|')[0].lower()} the "
            "policies for client ID metadata documents: update it"
        )

    def _call(self, operation: str, wanted: Mapping[str, Any]) -> Any:
        """Call an operation, with each member spelled as boto3 does."""
        members = {name.lower(): name for name in self.calls.requests(_SERVICE)[operation]}
        given = {members[name]: value for name, value in wanted.items() if name in members}
        return self.calls.call(_SERVICE, operation, **given)


def _lowered(found: object) -> dict[str, Any]:
    return {name.lower(): value for name, value in cast("dict[str, Any]", found).items()}


def _objects(page: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of an answer that has one list."""
    lists = [cast("list[object]", value) for value in page.values() if isinstance(value, list)]
    return [_lowered(cast("object", one)) for rows in lists for one in rows if isinstance(one, dict)]
