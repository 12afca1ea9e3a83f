"""What would go wrong later with a tool: its manifest held against its state machine and the machine's past runs.

Pure. Each finding is one line: where, what, and what to do.
"""

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Final, cast

from stepwire.catalog.tools import TaskSupport
from stepwire.errors import CatalogError
from stepwire.json_text import Json, JsonObject, as_object, load_json, write
from stepwire.manifests.manifest import Manifest
from stepwire.manifests.registration import Examined, Kind, fitted
from stepwire.tasks.task import LONGEST_TTL
from stepwire_wrap.definitions.drafts import History, Machine, iso
from stepwire_wrap.definitions.hints import Hint, questions_of
from stepwire_wrap.definitions.machines import analysed
from stepwire_wrap.definitions.questions import bad_questions
from stepwire_wrap.definitions.retrying import unretried
from stepwire_wrap.definitions.samples import Seen
from stepwire_wrap.definitions.timings import spoken, timeout_of
from stepwire_wrap.definitions.values import EACH, Path
from stepwire_wrap.findings import Finding, Severity, findings_in
from stepwire_wrap.parts import parts

_LONGEST_WAIT: Final = 15.0  # seconds that a call without a task may wait, as the endpoint's parameter WaitSeconds
_DAY: Final = 86_400


def findings_of_words(where: str, manifest: Manifest) -> list[Finding]:
    """Return what is wrong with a manifest by itself, whatever its state machine is."""
    found = [*_of_words(manifest), *_of_shapes(manifest)]
    return [replace(one, where=where) for one in found]


def findings_of(where: str, manifest: Manifest, name: str, machine: Machine, history: History) -> list[Finding]:
    """Return what is wrong between a manifest and one of its state machines."""
    found = [
        *_of_the_machine(manifest, machine),
        *_of_times(manifest, machine, history),
        *_of_arguments(manifest, _constants(manifest, name), machine, history.inputs),
        *(_advice(one) for one in questions_of(machine.definition, as_json=machine.is_json) if one.lines),
    ]
    return [replace(one, where=where) for one in found]


def findings_of_questions(where: str, manifest: Manifest, definitions: Iterable[JsonObject]) -> Iterator[Finding]:
    """Yield what is doubtful about who decides questions."""
    whole = list(definitions)
    for part in parts("doubts"):
        yield from (replace(one, where=where) for one in part.of_questions(manifest, whole))
    for one in manifest.doubts(whole):
        yield Finding(where, one.words, one.fix, Severity.ADVICE if one.is_advice else Severity.WARNING)


def _error(what: str, fix: str) -> Finding:
    return Finding("", what, fix, Severity.ERROR)


def _warning(what: str, fix: str) -> Finding:
    return Finding("", what, fix)


def _advice(hint: Hint) -> Finding:
    return Finding("", hint.what, f"{hint.fix}, with these lines", Severity.ADVICE, hint.lines)


def _of_the_machine(manifest: Manifest, machine: Machine) -> Iterator[Finding]:
    kind = Kind.EXPRESS if machine.is_express else Kind.STANDARD
    try:
        fitted(manifest.tool(), manifest, Examined(kind, write(machine.definition)))
    except CatalogError as fault:
        yield _error(str(fault), "correct the manifest")
    timeout = timeout_of(machine.definition) or 0
    if machine.is_express and timeout > _LONGEST_WAIT:
        yield _warning(
            f"of type EXPRESS, and may run {spoken(timeout)} (TimeoutSeconds): a call waits "
            f"{_LONGEST_WAIT:.0f} seconds, and its result is lost after that",
            "make the state machine STANDARD, if it takes longer",
        )
    for one in bad_questions(machine.definition):
        yield _error(f"the question of state {one.state}: {one.fault}", "a run that asks it fails: correct the state")
    for place, what, fix in unretried(machine.definition):
        yield _warning(f"{machine.name}: state {place.name} {what}", fix)
    for part in parts("doubts"):
        yield from part.of_audiences(manifest, machine.name, machine.definition)


def _of_times(manifest: Manifest, machine: Machine, history: History) -> Iterator[Finding]:
    if machine.is_express:
        return  # nothing is kept of it
    ttl = manifest.ttl.total_seconds()
    timeout, longest = timeout_of(machine.definition), max(history.seconds, default=0.0)
    longer = f"set ttl to {iso(timedelta(days=1 + int(max(timeout or 0, longest) // _DAY)))} or more"
    if timeout is not None and timeout > ttl:
        yield _error(
            f"ttl is {spoken(ttl)}, and runs may take {spoken(timeout)} (TimeoutSeconds): tasks end before their work",
            longer
            if timeout < LONGEST_TTL.total_seconds()
            else f"shorten TimeoutSeconds: a task runs for {LONGEST_TTL.days} days at most",
        )
    elif longest > ttl:
        yield _error(
            f"ttl is {spoken(ttl)}, and a recent run took {spoken(longest)}: tasks end before their work", longer
        )
    if manifest.task_support is TaskSupport.FORBIDDEN and longest > _LONGEST_WAIT:
        yield _warning(
            f"task_support is forbidden, and a recent run took {spoken(longest)}: most clients wait less",
            "set task_support to optional",
        )


def _constants(manifest: Manifest, name: str) -> frozenset[str]:
    """Return the members of a state machine's input that the manifest itself gives, in every arm that starts it."""
    arms = (run for run in manifest.tool().plan.runs if run.state_machine_arn == name)
    given = [frozenset(load_json(run.constants) if run.constants else ()) for run in arms]
    return frozenset[str]().union(*given[:1]).intersection(*given)


def _of_arguments(manifest: Manifest, constants: Container[str], machine: Machine, runs: Seen) -> Iterator[Finding]:
    analysis = analysed(machine.definition, machine.handlers)
    for path in sorted(analysis.required):
        if not path or EACH in path or path[0] in constants or _is_not_needed(path, runs):
            continue
        if (missing := _missing(manifest.input_schema, path)) is not None:
            yield _warning(
                f"{'.'.join(path)}: runs fail without it, and input_schema {missing}", "add it to input_schema"
            )
    for text in analysis.unreadable:
        yield _error(f"state {text}", "correct the expression")


def _is_not_needed(path: Path, runs: Seen) -> bool:
    """Tell whether a run has succeeded without a part of the input."""
    there = runs.members.get(path[0], Seen())
    return there.count < runs.objects or (len(path) > 1 and _is_not_needed(path[1:], there))


def _missing(schema: JsonObject, path: Path) -> str | None:
    """Say how a schema lets a call pass without a part of the input; None if it does not, or cannot know."""
    for step in path:
        if "properties" not in schema:
            return "has no properties" if schema.get("type") == "object" and step == path[0] else None
        properties = as_object(schema["properties"])
        if step not in properties:
            return "does not have it"
        member = as_object(properties[step])
        if step not in schema.get("required", ()) and "default" not in member:  # the endpoint gives defaults
            return "does not require it"
        schema = member
    return None


def _of_words(manifest: Manifest) -> Iterator[Finding]:
    for one in findings_in(manifest):
        yield _warning(f"{one.where}: {one.what.rstrip('.')}", one.fix.rstrip("."))


def _of_shapes(manifest: Manifest) -> Iterator[Finding]:
    for name, schema in (("input_schema", manifest.input_schema), ("output_schema", manifest.output_schema or {})):
        for place, what in _refused_shapes(schema, name):
            yield _warning(
                f"at {place}: AgentCore Gateway refuses {what}", "write it in another way, if you use that gateway"
            )


def _refused_shapes(schema: Json, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(schema, list):
        for number, one in enumerate(cast(list[Json], schema)):
            yield from _refused_shapes(one, f"{place}/{number}")
        return
    members = as_object(schema)
    if members.get("items") == {} and "items" in members:
        yield place, "`items: {}`"
    if "default" in members and members["default"] is None:
        yield place, "`default: null`"
    choices = members.get("anyOf", [])
    if isinstance(choices, list) and any(as_object(one).get("type") == "null" for one in cast(list[Json], choices)):
        yield place, "anyOf with null"
    for name, one in members.items():
        if name not in ("enum", "const", "default", "examples"):
            yield from _refused_shapes(one, f"{place}/{name}")
