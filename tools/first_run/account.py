"""The account as trials use it: stacks of the run's own names, an endpoint with a tool, credentials of a role.

The rule: all that a trial makes is made here, so that the journal knows of it; names begin with the run's prefix.
"""

import json
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import boto3
import httpx

from stepwire_cli.account.calls import Calls
from stepwire_cli.account.connecting import Clients
from stepwire_cli.account.errors import AccountError, NotAllowed
from stepwire_cli.account.pacing import Pacer
from stepwire_cli.deployment import commands
from stepwire_cli.deployment.following import last_failures
from stepwire_cli.deployment.release import Release
from stepwire_cli.deployment.stack import Readiness, Stack, described, resources_of
from stepwire_cli.exits import CommandError, Exit
from stepwire_cli.screen import Screen
from stepwire_local.cloudformation.template import read
from tests.server.clients import ModernClient
from tools.first_run.clock import Clock
from tools.first_run.journal import Journal
from tools.first_run.removal import REMOVERS, Removal, settled
from tools.load.clients import Endpoint

ROOT: Final = Path(__file__).parents[2]
TEMPLATES: Final = Path(__file__).parent / "templates"
ADOPTER: Final = ROOT / "tests/adopter/template.yaml"
TOOL: Final = "wait_and_echo"
OF_THE_ACCOUNT: Final = {"AWS": {"Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:root"}}
"""The principal of a policy that leaves it to the account's IAM policies."""
PROPAGATION: Final = 1 / 4
"""Minutes until IAM, which promises no time, knows a new role everywhere."""
_FIRST: Final = {"Authorizer": "none", "Deployment": "AllAtOnce", "DeletionProtection": "false"}
_OF_THE_TOOL: Final = ("WaitAndEcho", "WaitAndEchoTool")
_TIMEOUT: Final = 40.0  # seconds: more than API Gateway takes


class Failed(Exception):
    """A deployment failed; the message has CloudFormation's reasons."""


@dataclass
class Account:
    """An account and a Region, with the names of one run."""

    calls: Calls
    number: str
    region: str
    prefix: str
    release: Release
    journal: Journal
    clock: Clock
    screen: Screen
    emulated: str = ""
    """The URL of the emulated AWS; empty: it is AWS."""
    vpc_endpoint: str = ""
    idle_minutes: float = 20
    role: str = ""
    """ARN of the role that deploys; empty: these credentials do."""
    _served: set[str] = field(default_factory=set[str])

    def name(self, suffix: str) -> str:
        """Return a name of this run's own."""
        return f"{self.prefix}-{suffix}"

    @property
    def main(self) -> str:
        """The name of the endpoint's stack."""
        return self.name("endpoint")

    @property
    def bucket(self) -> str:
        """The name of the bucket for the release's files, and for exports."""
        return self.name("files")

    # ---------------------------------------------------------- Stacks

    def deployer(self) -> Calls:
        """Return the AWS of whoever deploys: the role with the page's permissions, once it has proved enough."""
        return self.as_role(self.role) if self.role else self.calls

    def deploy(self, name: str, calls: Calls, **parameters: str) -> Stack:
        """Deploy the release, or change a parameter of what is deployed.

        Raises:
            Failed: CloudFormation, or the command, says why.
        """
        self.journal.will_make("bucket", self.bucket)
        self.journal.will_make("endpoint", name)
        if self.emulated:
            parameters = {"EndpointUrl": f"{self.emulated}/mcp", **parameters}
        if not described(self.calls, name).outputs:  # a new stack, perhaps with a table or a change set that nobody ran
            parameters = {**{key: _FIRST[key] for key in _FIRST if key in self.release.parameters}, **parameters}
        options = commands.Deployment(
            name, parameters, bucket=self.bucket, agree=lambda _question: True, sleep=self.clock.sleep
        )
        try:
            code = commands.deploy(options, self.release, calls, self.screen)
        except CommandError as error:
            raise Failed(str(error)) from None
        if code != Exit.DONE:
            raise Failed(self.why(name))
        return described(self.calls, name)

    def why(self, name: str) -> str:
        """Return why the last change of a stack failed, in CloudFormation's words."""
        found = last_failures(self.calls, described(self.calls, name))
        causes = [one for one in found if "cancelled" not in one.why.lower()]
        return "; ".join(f"{one.name}: {one.why}" for one in causes[:3]) or "CloudFormation gives no reason"

    def standing(self) -> Stack:
        """Return the endpoint's stack, deployed with these credentials if it does not stand."""
        stack = settled(self.calls, self.clock, self.main)
        if stack.readiness is Readiness.BROKEN:  # whoever deployed first could not: the others go on with a new one
            REMOVERS["endpoint"].remove(Removal(self.calls, self.clock, self.screen, self.screen.say), self.main)
        return stack if stack.readiness is Readiness.STANDS else self.deploy(self.main, self.calls)

    @contextmanager
    def changed(self, **parameters: str) -> Generator[Stack]:
        """Change parameters of the endpoint's stack, as whoever deploys, and change them back after the block.

        An interrupt changes nothing back: all is removed then.
        """
        before = self.standing().parameters
        if lacking := parameters.keys() - before.keys():
            raise AccountError(f"the release has no parameter {', '.join(sorted(lacking))}")
        back = {name: before[name] for name in parameters}
        try:
            yield self.deploy(self.main, self.deployer(), **parameters)
        except Exception:
            self.deploy(self.main, self.deployer(), **back)
            raise
        self.deploy(self.main, self.deployer(), **back)

    def side_stack(self, suffix: str, template: Mapping[str, Any] | None = None, **parameters: str) -> Stack:
        """Return a stack beside the endpoint's, made if there is none; by default of `templates/SUFFIX.yaml`.

        Raises:
            Failed: CloudFormation says why.
        """
        name = self.name(suffix)
        if described(self.calls, name).readiness is Readiness.ABSENT:
            self.journal.will_make("stack", name)
            self.calls.call(
                "cloudformation",
                "CreateStack",
                StackName=name,
                TemplateBody=json.dumps(template or read(TEMPLATES / f"{suffix}.yaml")),
                Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
                Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
            )
        stack = settled(self.calls, self.clock, name)
        if stack.status != "CREATE_COMPLETE":
            raise Failed(f"{suffix}: {self.why(name)}")
        return stack

    def resource(self, stack: Stack, name: str) -> str:
        """Return the physical id of a resource of a stack."""
        return resources_of(self.calls, stack)[name][1]

    def of_kind(self, stack: Stack, kind: str) -> list[str]:
        """Return the physical ids of the resources of a type."""
        return [held for other, held in resources_of(self.calls, stack).values() if other == kind]

    # ---------------------------------------------------------- Callers

    def serving(self) -> Endpoint:
        """Return the endpoint, with the tool registered."""
        return self.served(self.standing())

    def tools(self) -> Stack:
        """Return the stack with the state machine and its manifest: a part of that of `make e2e`."""
        whole = read(ADOPTER)
        resources = {name: whole["Resources"][name] for name in _OF_THE_TOOL}
        resources["WaitAndEcho"]["Properties"]["Tracing"] = {"Enabled": True}
        return self.side_stack("tools", {**whole, "Resources": resources}, Endpoint=self.main)

    def served(self, stack: Stack) -> Endpoint:
        """Return an endpoint as a client without sign-in reaches it."""
        if stack.name not in self._served:
            self.tools()
            event = json.dumps({"detail-type": "Scheduled Event"}).encode()  # as the schedule, which comes later
            function = self.resource(stack, "CatalogFunction")
            self.calls.call("lambda", "Invoke", FunctionName=function, Payload=event)
            self._served.add(stack.name)
        return self.reached(*self.address(stack))

    def address(self, stack: Stack) -> tuple[str, dict[str, str]]:
        """Return the URL of the API of a stack, and the headers that lead there."""
        http, rest = (self.of_kind(stack, f"AWS::{kind}") for kind in ("ApiGatewayV2::Api", "ApiGateway::RestApi"))
        if self.emulated:
            if rest:
                return f"{self.emulated}/restapis/{rest[0]}/live/_user_request_/mcp", {}
            return f"{self.emulated}/mcp", {"host": f"{http[0]}.execute-api.localhost:{urlsplit(self.emulated).port}"}
        path = f"{rest[0]}.execute-api.{self.region}.amazonaws.com/live" if rest else ""
        return (f"https://{path}/mcp" if rest else stack.outputs["McpEndpoint"]), {}

    def reached(self, url: str, headers: Mapping[str, str]) -> Endpoint:
        """Return a client of an address."""
        return Endpoint(url, "nobody", [], http=httpx.Client(headers=dict(headers), timeout=_TIMEOUT))

    def called(self, endpoint: Endpoint, meta: Mapping[str, Any] | None = None) -> str:
        """Call the tool, follow its task to the end, and return the task's id.

        Raises:
            Failed: the task did not end well.
            TooLong: the tool is not there, or the task does not end.
        """
        client = ModernClient(endpoint)
        arguments = {"message": self.prefix, "seconds": 1}

        def created() -> str:
            try:
                answer = client.ask("tools/call", {"name": TOOL, "arguments": arguments}, meta=meta)
                return "" if "error" in answer.body else answer.id_in()
            except (httpx.HTTPError, AssertionError, ValueError):  # API Gateway knows the API some seconds later
                return ""

        task = self.clock.until(created, 20, f"the tool {TOOL} is served")
        ended = self.clock.until(lambda: self.ended(endpoint, task), 30, "the task ends")
        if ended.get("status") != "completed" or self.prefix not in json.dumps(ended):
            raise Failed(f"the task is {ended}")
        return task

    def ended(self, endpoint: Endpoint, task: str) -> dict[str, Any]:
        """Return a task that has ended, or the error that it is unknown; empty: it goes on."""
        body = ModernClient(endpoint).task("get", task).body
        found: dict[str, Any] = body.get("result") or body["error"]
        return {} if found.get("status") in {"working", "input_required"} else found

    # ---------------------------------------------------------- Credentials

    def as_role(self, role: str, policy: Mapping[str, Any] | None = None) -> Calls:
        """Return the account as a role sees it, with no more than a policy allows."""
        given = {} if policy is None else {"Policy": json.dumps(policy)}

        def assumed() -> Any:
            try:
                answer = self.calls.call(
                    "sts", "AssumeRole", RoleArn=role, RoleSessionName="stepwire-first-run", **given
                )
            except NotAllowed:  # IAM does not know the role everywhere yet
                return None
            return answer["Credentials"]

        keys = self.clock.until(assumed, 10, f"the role {role} can be assumed")
        session = boto3.Session(keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"], self.region)
        return Calls(Clients(session).client, Pacer(time.monotonic, time.sleep), self.region)

    def refused(self, calls: Calls, service: str, operation: str, **parameters: Any) -> str:
        """Return why a call is refused; empty: it works."""
        try:
            calls.call(service, operation, **parameters)
        except AccountError as error:
            return str(error)
        return ""


@contextmanager
def quietly(path: Path) -> Generator[Screen]:
    """Return a screen that writes what the commands say into a file."""
    from rich.console import Console  # noqa: PLC0415 - beside its use

    with path.open("a", encoding="utf-8") as file:
        screen = Screen(as_json=False)
        screen.out = screen.err = Console(file=file, highlight=False, soft_wrap=True, emoji=False)
        yield screen
