"""`stepwire wrap`, and `stepwire doctor` of an account: what they do once their options are read.

The rule: a manifest that is in the folder already is what its owner has reviewed. It is registered as it is, and never
written over.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from stepwire.catalog.tools import Machine
from stepwire.errors import CatalogError
from stepwire.manifests.manifest import Manifest
from stepwire.manifests.reading import read_manifest
from stepwire.tasks.task import unqualified
from stepwire_cli.account.calls import Calls
from stepwire_cli.account.doctor import Doctor
from stepwire_cli.account.endpoint import Endpoint
from stepwire_cli.account.errors import AccountError
from stepwire_cli.account.machines import SAMPLES, Chosen, StateMachines
from stepwire_cli.account.registering import Other, Plan, Registration, Registry, registration_of
from stepwire_cli.account.wrapping import notes_on, wrapped
from stepwire_cli.exits import Exit
from stepwire_wrap.deciding import NOBODY_SAYS, Deciding, decided
from stepwire_wrap.definitions.drafts import Draft
from stepwire_wrap.definitions.snippets import Tool
from stepwire_wrap.drafting import Place, Screen, counted, show_findings, write_and_show
from stepwire_wrap.files.texts import Unreadable, text_of
from stepwire_wrap.findings import findings_of_parameter

THREADS: Final = 4
DOCTOR: Final = "stepwire doctor"
"""The command that checks manifests."""


@dataclass(frozen=True)
class Wrap:
    """The options of `stepwire wrap`."""

    chosen: Chosen
    folder: Path
    """Where the manifests are."""
    endpoint: str = "stepwire"
    """Name of the endpoint's stack."""
    snippet: Tool | None = None
    samples: int = SAMPLES
    role: str = ""
    """ARN of the role that reaches state machines of another account or Region."""
    applies: bool = False
    is_dry: bool = False
    """Whether to show only what --apply would do."""
    deciding: Deciding = NOBODY_SAYS
    """Who decides at the states that wait for a person."""
    agree: Callable[[str], bool] = field(default=lambda _question: False)
    """Asks whether something may be replaced."""
    watch: Callable[[int, str], None] = field(default=lambda _number, _name: None)
    """Gets the number of state machines to read, and the name of each that was read."""


def wrap(options: Wrap, calls: Calls, screen: Screen) -> int:
    """Describe state machines as tools, and register them if asked to.

    Raises:
        AccountError: nothing could be done.
    """
    registers = options.applies or options.is_dry
    if registers:
        Endpoint(calls, options.endpoint).check()
    machines = StateMachines(calls, options.samples, options.role)
    arns = machines.arns(options.chosen)
    registry = Registry(calls, options.endpoint)
    registered = registry.registered() if registers else []

    def watch(name: str) -> None:
        options.watch(len(arns), name)

    watched = replace(machines, watch=watch)
    found = decided(wrapped(watched, arns, registered, threads=THREADS), options.deciding, screen)
    made = [one.draft for one in found if one.draft is not None]
    place = Place(options.folder, options.endpoint, options.snippet, doctor="" if registers else DOCTOR)
    write_and_show(found, place, screen, notes_on(found))
    failed = len(made) < len(found)
    if registers:
        failed |= not _register(made, registry, options, screen)
    return Exit.FAILED if failed else Exit.DONE


def _register(made: Sequence[Draft], registry: Registry, options: Wrap, screen: Screen) -> bool:
    """Register the tools, and tell whether all are."""
    wanted: list[Registration] = []
    for draft in made:
        try:
            wanted.append(_reviewed(draft, options.folder))
        except CatalogError as error:
            screen.error(str(error))
    plans = registry.plans(wanted)
    done = [_carried_out(plan, registry, options, screen) for plan in plans]
    return all(done) and len(wanted) == len(made)


def _carried_out(plan: Plan, registry: Registry, options: Wrap, screen: Screen) -> bool:
    if plan.by_hand:
        for line in plan.lines():
            screen.error(line)
        return False
    if options.is_dry:
        for line in plan.dry_lines():
            screen.say(line)
        return True
    if plan.replaces and not options.agree(f"{'; '.join(plan.lines())}: go on?"):
        screen.error(f"{plan.wanted.tool}: left as it is; --yes replaces it")
        return False
    try:
        registry.apply(plan)
    except AccountError as error:
        screen.error(f"{plan.wanted.tool}: {error}")
        return False
    for line in plan.lines():
        screen.say(line)
    return True


def _reviewed(draft: Draft, folder: Path) -> Registration:
    """Return the manifest of the folder, as its owner left it.

    Raises:
        CatalogError: it is no manifest, or not of this state machine.
    """
    path = folder / f"{draft.name}.yaml"
    try:
        text = text_of(path)
    except Unreadable as error:
        raise CatalogError(f"{path}: {error}") from None
    if text == draft.text:
        return registration_of(draft)
    try:
        manifest = read_manifest(text)
    except CatalogError as error:
        raise CatalogError(f"{path}: {' / '.join(str(error).split(chr(10)))}") from None
    _check(manifest, draft, path, text)
    return registration_of(draft, text, _others(manifest, draft))


def _others(manifest: Manifest, draft: Draft) -> tuple[Other, ...]:
    """Return the state machines of a race beside the one of the draft."""
    prefix = draft.machine.arn.removesuffix(draft.machine.name)
    others = {
        unqualified(one.name if one.name.startswith("arn:") else f"{prefix}{one.name}")[0]: one.role
        for one in manifest.machines
        if not _is_of(one, draft)
    }
    return tuple(Other(arn, role) for arn, role in others.items())


def _is_of(machine: Machine, draft: Draft) -> bool:
    name = machine.name
    return name == draft.machine.name or name.removeprefix(draft.machine.arn)[:1] in ("", ":")


def _check(manifest: Manifest, draft: Draft, path: Path, text: str) -> None:
    if manifest.name != draft.name:
        raise CatalogError(f"{path}: name: {manifest.name!r} must be {draft.name!r}, as the file is called")
    own = next((one for one in manifest.machines if _is_of(one, draft)), None)
    if own is None:
        names = " or ".join(repr(one.name) for one in manifest.machines)
        raise CatalogError(f"{path}: state_machine: {names} is not {draft.machine.arn}")
    if own.role != draft.machine.role:
        wanted = draft.machine.role or "none"
        raise CatalogError(f"{path}: role: {own.role or 'none'} is not {wanted}, as --role says")
    for one in findings_of_parameter(text):
        raise CatalogError(f"{path}: {one.what} Fix: {one.fix}")


def doctor(endpoint: str, calls: Calls, screen: Screen) -> int:
    """Say what is wrong with the tools that are registered with an endpoint, one line each.

    Raises:
        AccountError: what is registered cannot be read.
    """
    Endpoint(calls, endpoint).check()
    tools: list[str] = []
    found = list(Doctor(calls, StateMachines(calls, samples=5), endpoint, watch=tools.append).findings())
    return show_findings(found, counted(len(tools), "tool"), screen)
