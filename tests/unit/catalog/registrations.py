"""Registered tools for tests: state machines, manifests, and the compiler over both."""

import json
from dataclasses import dataclass, field
from typing import Any, Final

from stepwire.errors import CatalogError, WorkflowsUnavailable
from stepwire.manifests.published import Compiled, Endpoint, Registered
from stepwire.manifests.registration import CONSENT, CONSENT_TOOLS, Compiler, Examined, Kind
from tests.kits import state_machine_arn

DEFINITION: Final = '{"StartAt": "A", "States": {"A": {"Type": "Pass", "End": true}}}'
PREFIX: Final = state_machine_arn("")
GOOD: Final = {
    "name": "settle",
    "description": "Settles.",
    "state_machine": state_machine_arn("Settle"),
    "input_schema": {"type": "object"},
}


@dataclass
class Machines:
    """State machines, the consent of their owners, and their types."""

    kinds: dict[str, Kind] = field(default_factory=lambda: {state_machine_arn("Settle"): Kind.STANDARD})
    consenting: set[str] = field(default_factory=lambda: {state_machine_arn("Settle")})
    described: list[str] = field(default_factory=list[str])
    definition: str = DEFINITION
    silence: Exception | None = None
    """What every question about a state machine is answered with."""

    tools: str | None = None
    """What the tag with the names of tools says, where there is one."""

    def tags_of(self, arn: str, role: str, *, serves: bool) -> dict[str, str]:
        if isinstance(self.silence, WorkflowsUnavailable):
            raise self.silence
        named = {} if self.tools is None else {CONSENT_TOOLS: self.tools}
        return {CONSENT: "mine", **named} if arn in self.consenting else {}

    def examine(self, arn: str, role: str) -> Examined:
        if self.silence is not None:
            raise self.silence
        self.described.append(arn)
        if arn not in self.kinds:
            raise CatalogError(f"state_machine: there is no {arn}")
        return Examined(self.kinds[arn], self.definition)


def express() -> Machines:
    """Return a state machine of type EXPRESS."""
    return Machines(kinds={state_machine_arn("Settle"): Kind.EXPRESS})


def registered(text: str | None = None, tool: str = "settle", **changes: Any) -> Registered:
    manifest = {**GOOD, **changes} if text is None else {}
    return Registered(tool, f"/stepwire/mine/tools/{tool}", json.dumps(manifest) if text is None else text)


def compiled(
    *tools: Registered,
    machines: Machines | None = None,
    previous: Compiled | None = None,
    recheck: bool = False,
    checks_scopes: bool = True,
    roles: tuple[str, ...] = (),
) -> Compiled:
    compiler = Compiler(Endpoint("mine", PREFIX, checks_scopes, roles), machines or Machines(), recheck)
    return compiler.compile(tools, previous.tools if previous else {})


def reason(found: Compiled) -> str:
    (refusal,) = found.refusals
    return refusal.reason
