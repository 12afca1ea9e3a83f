"""Compile what owners have registered, each manifest by itself: a bad one disables its own tool alone.

Runs in function catalog and never in one that a client waits for. The rules: a state machine is served by consent of
its owner, whoever registers it; a manifest that is wrong leaves its predecessor in place, a consent that is withdrawn
does not; whatever one manifest raises or takes, the others are compiled. A run has a limited time: what it leaves keeps
its predecessor, and comes first in the next one, in which the owners take turns, one manifest each, so that one owner's
manifests do not keep another's waiting.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import Final, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from stepwire import __version__
from stepwire.catalog.tools import (
    ARN_PATTERN,
    FORMAT,
    CompiledTool,
    Machine,
    TaskSupport,
    Tool,
    catalog_text,
    read_catalog,
)
from stepwire.errors import CatalogError, WorkflowsThrottled, WorkflowsUnavailable
from stepwire.json_text import JsonTextError, as_object, parse
from stepwire.manifests.faults import unforeseen
from stepwire.manifests.manifest import Manifest
from stepwire.manifests.model import ALL, checked_files
from stepwire.manifests.published import (
    NOTHING_EARLIER,
    Compiled,
    Earlier,
    Endpoint,
    Refusal,
    Registered,
    ToolFile,
    in_rounds,
)
from stepwire.manifests.reading import read_manifest
from stepwire.tasks.task import unqualified

CONSENT: Final = "stepwire:endpoint"
"""Key of the tag whose value is the name of the endpoint's stack."""
CONSENT_TOOLS: Final = "stepwire:tools"
"""Key of the tag with the names of the tools that may start the state machine, with spaces between them. Without this
tag, any tool may."""
_FEW: Final = 20
"""Manifests that one run certainly compiles, so that nobody needs to know whose they are."""
LARGEST_DEFINITION: Final = 1_048_576
"""Bytes; what Step Functions takes."""
_ACCOUNT: Final = 4  # part of an ARN
_SHOWN: Final = 100  # characters of what is wrong with a definition


class Kind(Enum):
    """The type of a state machine."""

    STANDARD = "STANDARD"
    EXPRESS = "EXPRESS"


class Examined(Struct, frozen=True):
    """A state machine as Step Functions describes it."""

    kind: Kind
    definition: str
    """Its Amazon States Language, of the version that a call starts."""


class OutOfBudget(Exception):
    """The run has made as many calls of a kind as it may: the rest is for the next one."""


class StateMachines(Protocol):
    """What is known of state machines."""

    def tags_of(self, arn: str, role: str, *, serves: bool) -> Mapping[str, str]:
        """Return the tags of a state machine by which its owner consents; empty where it is not there.

        Of one that a parameter of the endpoint's stack names, they are the consent. Elsewhere, they are read under the
        role.

        Args:
            arn: of the state machine itself.
            role: that may read it; empty in the endpoint's own account and Region.
            serves: whether a tool is served for it, so that only its tags themselves take that tool away.

        Raises:
            WorkflowsUnavailable: no answer.
            OutOfBudget: too many tags were read in this run.
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
    """A manifest is not served; the last good one of its tool may be.

    `digest` names the manifest if the fault is its own, so that it is the same until the manifest changes.
    """

    def __init__(self, reason: str, digest: str = "") -> None:
        super().__init__(reason)
        self.digest = digest


class _NotServed(Exception):
    """A state machine may not be started, or the release has a tool of that name: no manifest of the tool is served."""


class _Outcome(Struct, frozen=True):
    """What becomes of a registered tool: an entry that serves, a refusal, or both."""

    entry: CompiledTool | None
    refusal: Refusal | None = None
    is_left: bool = False
    """Whether it waits for the next run."""


class _Fitted(Struct, frozen=True):
    """A tool as one of its state machines lets it be, and what that one does."""

    tool: Tool
    definition: str


def _ignore(_one: Registered, _words: str) -> None:
    pass


class Compiler(Struct, frozen=True):
    """Compiles registered tools."""

    endpoint: Endpoint
    machines: StateMachines
    recheck: bool
    """Whether to look at the manifests and state machines of tools that have not changed."""
    release_tools: Mapping[str, str] = field(default_factory=dict[str, str])
    """The files of the manifests that are part of the endpoint's release, by the names of their tools."""
    has_time: Callable[[], bool] = lambda: True
    """Whether the run may begin another manifest."""
    owners: Callable[[], Mapping[str, str]] = dict[str, str]
    """Returns who registered the tools, by the names of their parameters."""
    extras: Collection[str] = ALL
    """Names of the extras whose fields a manifest may have."""
    read: Callable[[str, Collection[str]], Manifest] = read_manifest
    doubt: Callable[[Registered, str], None] = _ignore
    """Receives what is doubtful about a tool that is served all the same."""

    def compile(
        self, registered: Iterable[Registered], previous: Mapping[str, CompiledTool], earlier: Earlier = NOTHING_EARLIER
    ) -> Compiled:
        """Return the tools that serve from now on.

        `previous`: the tools that have served until now, by name. `earlier`: what the last run left.

        First all that needs no work: what has not changed, and faults that are known. The others take turns.
        """
        outcomes: dict[str, _Outcome] = {}
        queue = list[Registered]()
        faults = {one.tool: one for one in earlier.refused if one.digest}
        for one in registered:
            known = self._outcome(one, previous.get(one.tool), partial(self._known_entry, faults.get(one.tool)))
            if known is None:
                queue.append(one)
            else:
                outcomes[one.tool] = known
        owners = self.owners() if len(queue) > _FEW else dict[str, str]()
        turns = in_turn(queue, earlier.waiting, owners)
        for one in turns:
            before = previous.get(one.tool)
            worked_out = self._outcome(one, before, self._entry) if self.has_time() else None
            outcomes[one.tool] = worked_out or self._left(one, before)
        left = [one.tool for one in turns if outcomes[one.tool].is_left]
        had_a_turn = {one.tool for one in turns}
        # What has not changed waits for the schedule, which looks at it anew.
        unchanged = [name for name in earlier.waiting if name in outcomes and name not in had_a_turn]
        tools = {name: one.entry for name, one in outcomes.items() if one.entry is not None}
        refusals = (outcomes[name].refusal for name in sorted(outcomes))
        return Compiled(tools, tuple(one for one in refusals if one is not None), (*left, *unchanged))

    def with_files(self, compiled: Compiled, files: Sequence[ToolFile]) -> Compiled:
        """Return what is compiled, with what is served of the files beside the manifests."""
        found = checked_files(files, compiled.tools, self.extras, self.has_time, self.owners)
        parts = {name: one.parts for name, one in found.items() if name}
        refusals = (refusal for one in found.values() for refusal in one.refusals)
        return replace(compiled, files=parts, refusals=(*compiled.refusals, *refusals))

    def _left(self, one: Registered, before: CompiledTool | None) -> _Outcome:
        kept = self._kept(one, before)
        if kept is not None and kept.digest == _digest(one.text, self.extras):
            return _Outcome(kept, is_left=True)
        reason = "it waits for its turn: this run had no time left for it, and the next one begins with it"
        return _Outcome(kept, Refusal(one.tool, one.source, reason, kept is not None), is_left=True)

    def _outcome(
        self,
        one: Registered,
        before: CompiledTool | None,
        step: Callable[[Registered, CompiledTool | None], CompiledTool | None],
    ) -> _Outcome | None:
        """Return what a step makes of a tool, whatever the step raises; None if it leaves the tool for later."""
        try:
            entry = step(one, before)
        except OutOfBudget:
            return None
        except _NotServed as refused:
            return _Outcome(None, Refusal(one.tool, one.source, str(refused), serves_previous=False))
        except _Refused as refused:
            kept = self._kept(one, before)
            return _Outcome(kept, Refusal(one.tool, one.source, str(refused), kept is not None, refused.digest))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as fault:  # noqa: BLE001 - a panic of a library in Rust is no Exception
            kept = self._kept(one, before)
            return _Outcome(kept, Refusal(one.tool, one.source, unforeseen(fault), kept is not None))
        return None if entry is None else _Outcome(entry)

    def _known_entry(self, fault: Refusal | None, one: Registered, before: CompiledTool | None) -> CompiledTool | None:
        """Return the entry of a tool that needs no work; None if it needs some.

        1. Its name is no tool's of the release; 2. it is the one that was compiled before, and its owners consent; 3. a
        fault of its own that is known.
        """
        if one.tool in self.release_tools:
            where = self.release_tools[one.tool]
            raise _NotServed(
                f"name: {one.tool!r} is a tool of the endpoint's own release ({where}), which is served: register this "
                "one under another name, or have that manifest removed"
            )
        if self.recheck:
            return None
        digest = _digest(one.text, self.extras)
        if before is not None and before.digest == digest:
            self._check_consents(before.tool, serves=True)
            return before
        if fault is not None and fault.digest == digest:
            raise _Refused(fault.reason, digest)
        return None

    def _entry(self, one: Registered, before: CompiledTool | None) -> CompiledTool:
        """Compile one tool. In this order, so that the first reason is the one that its owner can act on.

        It is 1. a manifest; 2. of its own name; 3. with scopes that somebody checks; 4. for a state machine of this
        account and Region, or with a role that the endpoint may assume; 5. whose owner consents; 6. that is there, can
        be described, and fits the manifest; 7. compiled, what function mcp can read. Of a race, 4. to
        6. hold for the state machine of every arm.
        """
        digest = _digest(one.text, self.extras)
        try:
            manifest = self.read(one.text, self.extras)
        except CatalogError as error:
            raise _Refused(str(error), digest) from None
        if manifest.name != one.tool:
            words = f"name: {manifest.name!r} must be the last part of the parameter's name, {one.tool!r}"
            raise _Refused(words, digest)
        if manifest.scopes and not self.endpoint.checks_scopes:
            raise _Refused("scopes: the endpoint's sign-in knows no scopes, so nobody would check them: leave them out")
        named = manifest.tool()
        tool = named.with_machines({machine.name: self._arn(machine) for machine in named.machines}.__getitem__)
        self._check_consents(tool, serves=before is not None)
        definitions = list[str]()
        for machine in tool.machines:
            examined = self._examined(tool, manifest, machine)
            tool = examined.tool
            definitions.append(examined.definition)
        for found in manifest.doubts([as_object(parse(text)) for text in definitions]):
            if not found.is_advice:
                self.doubt(one, found.words)
        entry = CompiledTool(tool, one.source, digest)
        read_catalog(catalog_text([entry]), {})  # function mcp reads many at once, so it must be able to read each
        return entry

    def _arn(self, machine: Machine) -> str:
        name = machine.name
        arn = name if name.startswith("arn:") else f"{self.endpoint.machine_prefix}{name}"
        if not ARN_PATTERN.fullmatch(arn):
            raise _Refused(f"state_machine: {name[:200]!r} is neither a state machine's name nor its ARN")
        if machine.role:
            problem = role_problem(machine.role, arn, self.endpoint.roles)
            if problem is not None:
                raise _Refused(f"role: {problem}")
        elif not arn.startswith(self.endpoint.machine_prefix):
            raise _Refused(
                f"state_machine: {name[:200]} is in another account or Region; only "
                f"{self.endpoint.machine_prefix}... can be started without a role"
            )
        return arn

    def _check_consents(self, tool: Tool, *, serves: bool) -> None:
        """Check that the owner of every state machine of a tool consents."""
        for machine in tool.machines:
            arn = machine.name
            try:
                tags = self.machines.tags_of(unqualified(arn)[0], machine.role, serves=serves)
            except CatalogError as fault:
                raise _Refused(str(fault)) from None
            except WorkflowsUnavailable:
                raise _Refused(f"state_machine: the tags of {arn} cannot be read now; tried again later") from None
            if tags.get(CONSENT) != self.endpoint.name:
                raise _NotServed(
                    f"state_machine: there is no {arn} with the tag {CONSENT}={self.endpoint.name}: its owner adds "
                    "the tag"
                )
            if tool.name not in tags.get(CONSENT_TOOLS, tool.name).split():
                raise _NotServed(
                    f"state_machine: the tag {CONSENT_TOOLS} of {arn} does not name {tool.name}: its owner adds the "
                    "name, with a space before it"
                )

    def _kept(self, one: Registered, before: CompiledTool | None) -> CompiledTool | None:
        """Return the predecessor of a tool, unless a consent is withdrawn or nothing of that name was served."""
        if before is None or one.tool in self.release_tools:
            return None
        try:
            self._check_consents(before.tool, serves=True)
        except _NotServed:
            return None
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # noqa: BLE001 - the consent cannot be read now; IAM still checks it at each start
            return before
        return before

    def _examined(self, tool: Tool, manifest: Manifest, machine: Machine) -> _Fitted:
        arn = machine.name
        try:
            examined = self.machines.examine(arn, machine.role)
            return _Fitted(fitted(tool, manifest, examined), examined.definition)
        except CatalogError as fault:
            raise _Refused(str(fault)) from None
        except WorkflowsThrottled:
            raise _Refused(
                f"state_machine: {arn} is not described now, because Step Functions throttles this account; "
                "tried again later"
            ) from None
        except WorkflowsUnavailable:
            raise _Refused(f"state_machine: {arn} cannot be described now; tried again later") from None


def _digest(text: str, extras: Collection[str]) -> str:
    """Name a manifest, and what compiled it: another version, or one with other extras, may compile it otherwise."""
    compiler = f"{__version__} {FORMAT} {sorted(extras)}"
    return hashlib.blake2b(f"{compiler} {text}".encode(errors="surrogatepass"), digest_size=16).hexdigest()


def in_turn(
    registered: Sequence[Registered], waiting: Sequence[str], owners: Mapping[str, str]
) -> tuple[Registered, ...]:
    """Return the registered tools in the order in which they are compiled.

    Args:
        registered: the tools that need to be compiled.
        waiting: the names of those that the last run left, in their order.
        owners: who registered them, by the name of the parameter; those without a known owner count as one owner's.
    """
    places = {name: place for place, name in enumerate(waiting)}
    queue = sorted(registered, key=lambda one: (places.get(one.tool, len(places)), one.tool))
    return tuple(in_rounds(queue, lambda one: owners.get(one.source, "")))


def fitted(tool: Tool, manifest: Manifest, examined: Examined) -> Tool:
    """Return the tool of a manifest as the state machine lets it be.

    Raises:
        CatalogError: the state machine and the manifest do not fit each other.
    """
    _check_definition(examined.definition)
    if examined.kind is Kind.STANDARD:
        return tool
    _check_express(manifest)
    return replace(tool, is_express=True, task_support=TaskSupport.FORBIDDEN)


def is_listed(arn: str, patterns: Iterable[str]) -> bool:
    """Tell whether a list of ARNs, each of which may end in *, has an ARN."""
    return any(arn.startswith(one[:-1]) if one.endswith("*") else arn == one for one in patterns)


def role_problem(role: str, arn: str, allowed: Sequence[str]) -> str | None:
    """Return why a role cannot run a state machine; None if it can."""
    if not is_listed(role, allowed):
        return f"{role} is not among the roles that the endpoint may assume: its operator adds it to WorkflowRoleArns"
    if role.split(":")[_ACCOUNT] != arn.split(":")[_ACCOUNT]:
        return f"{role} must be of the state machine's account, {arn.split(':')[_ACCOUNT]}"
    return None


def _check_definition(definition: str) -> None:
    size = len(definition.encode(errors="replace"))
    if size > LARGEST_DEFINITION:
        raise CatalogError(f"state_machine: its definition has {size} bytes, more than {LARGEST_DEFINITION}")
    try:
        states = as_object(parse(definition)).get("States")
    except JsonTextError as error:
        raise CatalogError(f"state_machine: its definition cannot be read: {str(error)[:_SHOWN]}") from None
    if not isinstance(states, dict):
        raise CatalogError("state_machine: its definition cannot be read: it has no States")


def _check_express(manifest: Manifest) -> None:
    """Refuse what needs a task: an EXPRESS execution cannot be followed, and nothing is kept of it."""
    if manifest.task_support is TaskSupport.REQUIRED:
        raise CatalogError(
            "task_support: a state machine of type EXPRESS never runs as a task: leave it out, or write forbidden"
        )
    if manifest.role is not None:
        raise CatalogError("role: a state machine of type EXPRESS must be of the endpoint's own account and Region")
    of_extras = (name for fields in manifest.added.values() for name in fields.need_task)
    for name in ("confirm", "idempotency", "retry", "race", *of_extras):
        if getattr(manifest, name) is not None:
            raise CatalogError(
                f"{name}: needs a task, and a state machine of type EXPRESS has none: leave the field out, "
                "or make the state machine STANDARD"
            )
