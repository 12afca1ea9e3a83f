"""Compile what owners have registered, each manifest by itself: a bad one disables its own tool alone.

Runs in function catalog and never in one that a client waits for. The rules: a state machine is served by consent of
its owner, whoever registers it; a manifest that is wrong leaves its predecessor in place, a consent that is withdrawn
does not.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol

from stepwire import __version__
from stepwire.catalog.compiled import Compiled, Endpoint, Refusal
from stepwire.catalog.examination import Examined, fields_for, role_problem
from stepwire.catalog.manifests import Machine, Manifest, read_manifest
from stepwire.catalog.tools import ARN_PATTERN, RACE_FORMAT
from stepwire.errors import CatalogError, WorkflowsThrottled, WorkflowsUnavailable
from stepwire.json_text import JsonObject
from stepwire.lean_dataclasses import dataclass, field
from stepwire.tasks.task import unqualified

CONSENT: Final = "stepwire:endpoint"
"""Key of the tag whose value is the name of the endpoint's stack."""


@dataclass(frozen=True)
class Registered:
    """A tool as its owner registered it."""

    tool: str
    """Last part of the parameter's name."""
    source: str
    """Name of the parameter."""
    text: str
    """The manifest."""


class StateMachines(Protocol):
    """What is known of state machines."""

    def has_consent(self, arn: str, role: str) -> bool:
        """Tell whether a state machine carries the tag of this endpoint, or a parameter of its stack names it.

        Elsewhere, only the tag counts, read under the role.

        Raises:
            WorkflowsUnavailable: no answer.
        """
        ...

    def examine(self, arn: str, role: str) -> Examined:
        """Return what the state machine of an ARN is, which may name a version or an alias.

        Raises:
            CatalogError: it cannot be started; the message says why.
            WorkflowsUnavailable: no answer, or only a throttled one.
        """
        ...


class _Refused(Exception):
    """A manifest is not served; the last good one of its tool may be."""


class _Taken(Exception):
    """The release has a tool of that name, so no registered one can be served."""


class _NoConsent(Exception):
    """A state machine may not be started."""


@dataclass(frozen=True)
class Compiler:
    """Compiles registered tools."""

    endpoint: Endpoint
    machines: StateMachines
    recheck: bool
    """Whether to look at the state machines of manifests that have not changed."""
    release_tools: Mapping[str, str] = field(default_factory=dict[str, str])
    """The files of the manifests that are part of the endpoint's release, by the names of their tools."""

    def compile(self, registered: Iterable[Registered], previous: Mapping[str, JsonObject]) -> Compiled:
        """Return the tools that serve from now on.

        Args:
            registered: all that is registered.
            previous: the tools that have served until now, by name.
        """
        tools: dict[str, JsonObject] = {}
        refusals: list[Refusal] = []
        for one in sorted(registered, key=lambda one: one.tool):
            before = previous.get(one.tool)
            try:
                tools[one.tool] = self._entry(one, before)
            except (_Refused, _NoConsent, _Taken) as refused:
                if before is not None and isinstance(refused, _Refused) and self._still_consents(before):
                    tools[one.tool] = before
                refusals.append(Refusal(one.tool, one.source, str(refused), one.tool in tools))
        return Compiled(tools, tuple(refusals))

    def _entry(self, one: Registered, before: JsonObject | None) -> JsonObject:
        """Compile one tool. In this order, so that the first reason is the one that its owner can act on.

        1. Its name is no tool's of the release; 2. it is the one that was compiled before; 3. a manifest; 4. of its own
        name; 5. with scopes that somebody checks; 6. for a state machine of this account and Region, or with a role
        that the endpoint may assume; 7. whose owner consents; 8. that is there, can be described, and fits the manifest
        (`examination`). Of a race, 6. to 8. hold for the state machine of every arm.
        """
        if one.tool in self.release_tools:
            where = self.release_tools[one.tool]
            raise _Taken(
                f"name: {one.tool!r} is a tool of the endpoint's own release ({where}), which is served: register this "
                "one under another name, or have that manifest removed"
            )
        digest = _digest(one.text)
        if before is not None and before.get("digest") == digest and not self.recheck:
            self._check_consents(before)
            return before
        manifest = _read(one)
        if manifest.scopes and not self.endpoint.checks_scopes:
            raise _Refused("scopes: the endpoint's sign-in knows no scopes, so nobody would check them: leave them out")
        arns = [self._arn(machine) for machine in manifest.machines]
        for arn, machine in zip(arns, manifest.machines, strict=True):
            self._check_consent(arn, machine.role or "")
        found = [self._examine(arn, manifest, machine) for arn, machine in zip(arns, manifest.machines, strict=True)]
        entry = {**manifest.compiled(), **found[0], "source": one.source, "digest": digest}
        return _with_arns(entry, arns)

    def _check_consents(self, entry: JsonObject) -> None:
        """Check the consent of every state machine of a compiled tool."""
        for one in entry["race"]["arms"] if "race" in entry else [entry]:
            self._check_consent(one["state_machine"], one.get("role", ""))

    def _arn(self, machine: Machine) -> str:
        name = machine.name
        arn = name if name.startswith("arn:") else f"{self.endpoint.machine_prefix}{name}"
        if not ARN_PATTERN.fullmatch(arn):
            raise _Refused(f"state_machine: {name[:200]!r} is neither a state machine's name nor its ARN")
        if machine.role is not None:
            problem = role_problem(machine.role, arn, self.endpoint.roles)
            if problem is not None:
                raise _Refused(f"role: {problem}")
        elif not arn.startswith(self.endpoint.machine_prefix):
            raise _Refused(
                f"state_machine: {name[:200]} is in another account or Region; only "
                f"{self.endpoint.machine_prefix}... can be started without a role"
            )
        return arn

    def _check_consent(self, arn: str, role: str) -> None:
        try:
            if self.machines.has_consent(unqualified(arn)[0], role):
                return
        except CatalogError as fault:
            raise _Refused(str(fault)) from None
        except WorkflowsUnavailable:
            raise _Refused(f"state_machine: the tags of {arn} cannot be read now; tried again later") from None
        raise _NoConsent(
            f"state_machine: there is no {arn} with the tag {CONSENT}={self.endpoint.name}: its owner adds the tag"
        )

    def _still_consents(self, before: JsonObject) -> bool:
        try:
            self._check_consents(before)
        except _NoConsent:
            return False
        except _Refused:
            return True  # nobody knows; IAM does
        return True

    def _examine(self, arn: str, manifest: Manifest, machine: Machine) -> JsonObject:
        try:
            return fields_for(self.machines.examine(arn, machine.role or ""), manifest)
        except CatalogError as fault:
            raise _Refused(str(fault)) from None
        except WorkflowsThrottled:
            raise _Refused(
                f"state_machine: {arn} is not described now, because Step Functions throttles this account; "
                "tried again later"
            ) from None
        except WorkflowsUnavailable:
            raise _Refused(f"state_machine: {arn} cannot be described now; tried again later") from None


def _with_arns(entry: JsonObject, arns: Sequence[str]) -> JsonObject:
    """Return a compiled tool with the ARNs of its state machines."""
    if "race" not in entry:
        return {**entry, "state_machine": arns[0]}
    race = entry["race"]
    arms = [{**arm, "state_machine": arn} for arm, arn in zip(race["arms"], arns, strict=True)]
    return {**entry, "state_machine": arns[0], "race": {**race, "arms": arms}}


def _read(one: Registered) -> Manifest:
    try:
        manifest = read_manifest(one.text)
    except CatalogError as error:
        raise _Refused(str(error)) from None
    if manifest.name != one.tool:
        raise _Refused(f"name: {manifest.name!r} must be the last part of the parameter's name, {one.tool!r}")
    return manifest


def _digest(text: str) -> str:
    """Name a manifest and the version that compiled it: another version may compile it otherwise."""
    compiler = f"{__version__} {RACE_FORMAT}"
    return hashlib.blake2b(f"{compiler} {text}".encode(errors="surrogatepass"), digest_size=16).hexdigest()
