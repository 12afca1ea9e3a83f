"""The account side of `stepwire doctor`: every registered tool, held against its state machine."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from stepwire.catalog.tools import ARN_PATTERN, Machine
from stepwire.errors import CatalogError
from stepwire.json_text import JsonObject, as_object, load_json
from stepwire.manifests.manifest import Manifest
from stepwire.manifests.reading import read_manifest
from stepwire.manifests.registration import CONSENT, is_listed
from stepwire.tasks.task import unqualified
from stepwire_cli.account.calls import Calls
from stepwire_cli.account.endpoint import Endpoint
from stepwire_cli.account.errors import AccountError, NotThere
from stepwire_cli.account.machines import StateMachines
from stepwire_cli.account.registering import Registered, Registry
from stepwire_wrap.definitions.findings import findings_of, findings_of_questions, findings_of_words
from stepwire_wrap.findings import Finding, Severity

_REFUSALS: Final = {"pk": {"S": "catalog"}, "sk": {"S": "refusals"}}


@dataclass(frozen=True)
class Doctor:
    """Looks at what is registered with an endpoint."""

    calls: Calls
    machines: StateMachines
    endpoint: str
    table: str | None = None
    """Name of the endpoint's table; None: the stack is asked."""
    watch: Callable[[str], None] = lambda _name: None
    """Gets the name of each tool that was looked at."""

    def findings(self) -> Iterator[Finding]:
        """Yield what is wrong, tool by tool."""
        registry = Registry(self.calls, self.endpoint)
        registered = registry.registered()
        if not registered:
            yield Finding(
                f"/stepwire/{self.endpoint}/tools/", "no tool is registered", "check the endpoint's name and the Region"
            )
        endpoints = registry.endpoints()
        refusals = self._refusals(registered)
        for one in registered:
            found = list(self._of_tool(one, endpoints))
            yield from found
            if not any(finding.severity is Severity.ERROR for finding in found):  # else it says the same once more
                yield from refusals.get(one.tool, ())
            self.watch(one.tool)
        yield from refusals.get("", ())

    def _of_tool(self, one: Registered, endpoints: Mapping[str, str]) -> Iterator[Finding]:
        """Check 1. the manifest, 2. its name, 3. that each state machine is there, 4. has the tag, 5. and fits.

        And 6. that they ask the questions for which the manifest has fields.
        """
        try:
            manifest = read_manifest(one.text)
        except CatalogError as error:
            for fault in str(error).split("\n"):
                yield Finding(one.source, fault, "correct the field", Severity.ERROR)
            return
        if manifest.name != one.tool:
            what = f"name: {manifest.name!r} is not the last part of the parameter's name"
            yield Finding(one.source, what, f"write name: {one.tool}", Severity.ERROR)
        definitions = list[JsonObject | None]()
        for machine in dict.fromkeys(manifest.machines):
            definitions.append((yield from self._of_machine(one, manifest, machine, endpoints)))
        known = [one for one in definitions if one is not None]
        if len(known) == len(definitions):
            yield from findings_of_questions(one.source, manifest, known)
        if known or any(machine.role for machine in manifest.machines):
            yield from findings_of_words(one.source, manifest)

    def _of_machine(
        self, one: Registered, manifest: Manifest, machine: Machine, endpoints: Mapping[str, str]
    ) -> Generator[Finding, None, JsonObject | None]:
        """Yield what is wrong with a state machine, and return its definition, if it can be read."""
        try:
            arn = self._arn(machine.name)
            read = replace(self.machines, role=machine.role).read(arn)
        except NotThere as error:
            yield Finding(one.source, f"state_machine: {error}", "correct it, or remove the parameter", Severity.ERROR)
            return None
        except AccountError as error:
            if not machine.role:  # under a role, perhaps only the endpoint may read it
                yield Finding(one.source, f"state_machine: {error}", "look again with other credentials")
            return None
        if not machine.role:
            yield from self._consent(one, unqualified(arn)[0], endpoints)
        yield from (Finding(one.source, problem, "times and inputs were not judged") for problem in read.problems)
        yield from findings_of(one.source, manifest, machine.name, read.machine, read.history)
        return read.machine.definition

    def _arn(self, name: str) -> str:
        if name.startswith("arn:"):
            if not ARN_PATTERN.fullmatch(name):
                raise NotThere(f"{name[:200]} is no ARN of a state machine")
            return name
        return self.machines.arns_of([name])[0]

    def _consent(self, one: Registered, arn: str, endpoints: Mapping[str, str]) -> Iterator[Finding]:
        endpoint = endpoints.get(arn)
        if endpoint == self.endpoint or is_listed(arn, self._allowed):
            return
        what = "its state machine has no tag" if endpoint is None else f"its state machine's tag names {endpoint}"
        fix = f"tag {arn} with {CONSENT}={self.endpoint}, or name it in StateMachineArns"
        yield Finding(one.source, f"{what}, so the endpoint may not start it", fix, Severity.ERROR)

    @cached_property
    def _allowed(self) -> tuple[str, ...]:
        """The state machines that need no tag; none where these credentials may not read the stack."""
        try:
            return Endpoint(self.calls, self.endpoint).listed("StateMachineArns")
        except AccountError:
            return ()

    def _refusals(self, registered: Iterable[Registered]) -> dict[str, list[Finding]]:
        """Return what function catalog has refused, by tool; under "" what is said of none of these."""
        try:
            refused = self._refused()
        except AccountError as error:
            return {
                "": [
                    Finding(self.endpoint, f"what function catalog refused is not known: {error}", "its log has it too")
                ]
            }
        sources = {one.tool: one.source for one in registered}
        found: dict[str, list[Finding]] = {}
        for one in refused:
            tool, keeps = (
                str(one.get("tool")),
                " (the last good manifest still serves)" if one["serves_previous"] else "",
            )
            where = str(one.get("source"))
            finding = Finding(where, f"refused: {one['reason']}{keeps}", "correct it and deploy", Severity.ERROR)
            # "": also that of a file beside it
            found.setdefault(tool if sources.get(tool) == where else "", []).append(finding)
        return found

    def _refused(self) -> list[JsonObject]:
        table = self.table or Endpoint(self.calls, self.endpoint).table()
        item = self.calls.call("dynamodb", "GetItem", TableName=table, Key=_REFUSALS).get("Item")
        return as_object(load_json(item["refused"]["S"])).get("refused", []) if item else []
