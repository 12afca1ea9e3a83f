"""The endpoint's stack: its resources, outputs and parameters."""

from dataclasses import dataclass
from typing import Any, Final

from stepwire.aws.settings import read_list
from stepwire_cli.account.calls import Calls
from stepwire_cli.account.errors import AccountError, NotThere

_TABLE: Final = "TasksTable"


@dataclass(frozen=True)
class Endpoint:
    """The stack of an endpoint."""

    calls: Calls
    name: str

    def physical_id(self, logical_id: str) -> str:
        """Return the physical id of a resource.

        Raises:
            NotThere: there is no such stack, or it is none of Stepwire.
            AccountError: CloudFormation refuses it.
        """
        answer: Any = self.calls.call(
            "cloudformation", "DescribeStackResource", StackName=self.name, LogicalResourceId=logical_id
        )
        return answer["StackResourceDetail"]["PhysicalResourceId"]

    def table(self) -> str:
        """Return the name of the table with the tasks. Raises as `physical_id` does."""
        return self.physical_id(_TABLE)

    def check(self) -> None:
        """Do nothing if the stack exists, or if these credentials may not find out.

        Raises:
            NotThere: it does not exist, or is none of Stepwire.
        """
        try:
            self.table()
        except NotThere:
            raise
        except AccountError:
            return

    def output(self, name: str) -> str:
        """Return an output of the stack; nothing where it has none. Raises as `physical_id` does."""
        return self._texts("Outputs", "Output").get(name, "")

    def parameter(self, name: str) -> str:
        """Return a parameter of the stack; nothing where it has none. Raises as `physical_id` does."""
        return self._texts("Parameters", "Parameter").get(name, "")

    def listed(self, name: str) -> tuple[str, ...]:
        """Return the parts of a parameter that is a list. Raises as `physical_id` does."""
        return read_list({name: self.parameter(name)}, name)

    def _texts(self, member: str, prefix: str) -> dict[str, str]:
        (stack,) = self.calls.call("cloudformation", "DescribeStacks", StackName=self.name)["Stacks"]
        return {one[f"{prefix}Key"]: one[f"{prefix}Value"] for one in stack.get(member, ())}
