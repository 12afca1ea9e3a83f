"""The draft of a manifest: all that is inferred of one state machine, as text for its owner to review.

Pure. The compiler of manifests accepts every draft, or the draft says why it cannot be a tool.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import islice
from typing import Final

from stepwire.json_text import JsonObject, as_object, write
from stepwire.manifests.manifest import LARGEST_SCHEMA
from stepwire_wrap.definitions.deciders import NOT_CHOSEN, Choices, field_of_others
from stepwire_wrap.definitions.descriptions import COMMENT, Described, Words, described, with_described_members
from stepwire_wrap.definitions.failures import Failure, show_errors_of
from stepwire_wrap.definitions.handlers import Handler, Handlers
from stepwire_wrap.definitions.hints import Hint, hints_of
from stepwire_wrap.definitions.machines import Analysis, analysed
from stepwire_wrap.definitions.outputs import output_schema
from stepwire_wrap.definitions.questions import asking_states
from stepwire_wrap.definitions.reads import LIST, Read
from stepwire_wrap.definitions.samples import Seen
from stepwire_wrap.definitions.schemas import Inferred, input_schema
from stepwire_wrap.definitions.soundness import faults_of
from stepwire_wrap.definitions.timings import Timings, timings_of
from stepwire_wrap.definitions.values import EACH
from stepwire_wrap.definitions.yaml_text import without_references, yaml_lines
from stepwire_wrap.findings import FREE_PARAMETER, LARGEST_PARAMETER

LARGEST_OUTPUT_SCHEMA: Final = 2_048  # bytes
_DEEPEST: Final = 8
_MOST_FAULTS: Final = 3
_CUT: Final = f"the input: its schema would have more than {LARGEST_SCHEMA} bytes, so properties are left out"
_ASK: Final = (
    "",
    "Lines for the definition, of states that ask through the endpoint. Review the message and the form.",
    "Its DefinitionSubstitutions need InputRequestsFunctionArn, which is /stepwire/ENDPOINT/input_requests in",
    "Parameter Store, and Partition, which is AWS::Partition; its role needs lambda:InvokeFunction on the function.",
    "With --snippet sam, these are printed (docs/talking_workflows.md).",
)
_TAKES_AN_ARRAY: Final = "the input: the definition reads an array, and a tool's arguments are an object"
_TAKES_BOTH: Final = "the input: the definition reads an array or an object, and a tool's arguments are an object"


@dataclass(frozen=True)
class Machine:
    """A state machine as Step Functions describes it."""

    arn: str
    """With the version or the alias, where one was named."""
    name: str
    definition: JsonObject
    is_express: bool = False
    role: str = ""
    """ARN of the role that reaches it in another account or Region; empty: the endpoint's own."""
    handlers: Handlers = field(default_factory=dict[str, Handler])
    """What is known of the code of the functions that it calls."""
    words: Words = field(default_factory=Words)
    """What people have written of it outside its definition."""
    is_json: bool = False
    """Whether its owner has the definition as a file of JSON."""
    placeholder: str = ""
    """Why `arn` only stands for the state machine's name; empty: it is its ARN."""
    logical_id: str = ""
    """In its template; empty: nothing is known of that."""
    parameters: frozenset[str] = frozenset()
    """What its template is given by a deployment."""
    choices: Choices = NOT_CHOSEN
    """Who decides at the states that wait for a person, as its owner says."""


@dataclass(frozen=True)
class History:
    """What is known of a state machine's past runs. It has no value that they were given."""

    inputs: Seen = field(default_factory=Seen)
    """Of runs that succeeded."""
    outputs: Seen = field(default_factory=Seen)
    seconds: Sequence[float] = ()
    """How long each run took that has ended."""
    failures: Sequence[Failure] = ()


@dataclass(frozen=True)
class Draft:
    """A manifest to review."""

    name: str
    machine: Machine
    manifest: JsonObject
    text: str
    """YAML, with comments."""
    conflicts: tuple[str, ...] = ()
    """What the owner must look at, one line each."""
    hints: tuple[Hint, ...] = ()
    """What the owner may make better."""
    proposals: str = ""
    """The end of `text`: lines for the definition, as comments."""
    history: History = field(default_factory=History)
    earlier: str = ""
    """`text` as it was before its owner said who decides."""

    @property
    def runs(self) -> int:
        """How many runs were looked at."""
        return self.history.inputs.count

    @property
    def undecided(self) -> tuple[Hint, ...]:
        """The hints to states for which somebody must say who decides."""
        return tuple(one for one in self.hints if one.ways)

    def decided(self, choices: Choices) -> "Draft":
        """Return the draft once its owner has said who decides."""
        made = draft(self.name, replace(self.machine, choices=choices), self.history)
        return replace(made, earlier=self.text)

    def parameter(self) -> str:
        """Return the manifest as it is registered: with its comments where that is free of charge."""
        if len((text := self.text.removesuffix(self.proposals)).encode()) <= FREE_PARAMETER:
            return text
        return self.compacted()

    def compacted(self) -> str:
        """Return the manifest as JSON, with as much of the schema as a parameter takes."""
        rest = len(compact({**self.manifest, "input_schema": {}}).encode())
        schema = fitted(as_object(self.manifest["input_schema"]), LARGEST_PARAMETER - rest)
        return compact({**self.manifest, "input_schema": schema})


class TooDeepError(ValueError):
    """A definition is nested too deeply to be read."""


def draft(name: str, machine: Machine, history: History) -> Draft:
    """Return the draft of a state machine's manifest.

    Raises:
        TooDeepError: its definition cannot be read.
    """
    try:
        return _drafted(name, machine, history)
    except RecursionError:
        raise TooDeepError("its definition is nested too deeply to be read: it becomes no tool") from None


def _drafted(name: str, machine: Machine, history: History) -> Draft:
    analysis = analysed(machine.definition, machine.handlers)
    inferred = input_schema(analysis, history.inputs)
    timings = timings_of(machine.definition, history.seconds)
    errors = show_errors_of(machine.definition, history.failures)
    inferred = replace(inferred, schema=with_described_members(inferred.schema, machine.definition))
    if (schema := fitted(inferred.schema, LARGEST_SCHEMA)) != inferred.schema:
        inferred = replace(inferred, schema=schema, conflicts=(*inferred.conflicts, _CUT))
    about = described(machine.name, machine.definition, machine.words)
    manifest: JsonObject = {
        "name": name,
        "description": about.text,
        "state_machine": machine.arn,
        **({"role": machine.role} if machine.role else {}),
        "input_schema": inferred.schema,
    }
    manifest |= field_of_others(machine.choices, asking_states(machine.definition))
    if (output := output_schema(analysis.output, history.outputs)) is not None:
        manifest["output_schema"] = fitted(output, LARGEST_OUTPUT_SCHEMA)
    manifest |= {"task_support": "forbidden"} if machine.is_express else _times(timings)
    if errors.value is not None:
        manifest["show_errors"] = errors.value
    notes = _notes(machine, history, timings, inferred, about) | ({("show_errors",): errors.why} if errors.why else {})
    hints = hints_of(machine.definition, analysis.reads, machine.choices, as_json=machine.is_json)
    lines = [
        *_head(machine, history, analysis, inferred),
        *(f"# {one}." for one in hints),
        *yaml_lines(manifest, notes),
    ]
    proposals = _proposals(hints)
    told = (*inferred.conflicts, *_problems(machine, analysis))
    text = without_references("\n".join(lines) + "\n")
    return Draft(name, machine, manifest, text + proposals, told, tuple(hints), proposals, history)


def _proposals(hints: Sequence[Hint]) -> str:
    """Return lines for the definition, as comments."""
    lines = [line for one in hints for line in ("", *one.ways_in_words(), *one.lines) if one.lines]
    if not lines:
        return ""
    told = [*_ASK, *lines]
    return "".join(f"# {line}".rstrip() + "\n" for line in told)


def _times(timings: Timings) -> JsonObject:
    return {
        "task_support": "forbidden" if timings.is_quick else "optional",
        "ttl": iso(timings.ttl),
        "poll_interval": iso(timings.poll_interval),
        "longest_poll_interval": iso(timings.longest_poll_interval),
    }


def _head(machine: Machine, history: History, analysis: Analysis, inferred: Inferred) -> list[str]:
    """Return the comments that stand before the fields."""
    runs = history.inputs.count
    code = " with the code of its functions" if machine.handlers else " alone"
    source = (
        f"its definition and {runs} of its runs that succeeded" if runs else f"its definition{code}: no run was read"
    )
    lines = [f"# Inferred from {source}.", "# Review the description and what the properties mean:"]
    lines.append("# models choose the tool and fill in its arguments by these words.")
    readers = passing_on(analysis)
    if readers:
        lines.append(f"# {', '.join(readers)}: gets the whole input and may read more than is listed.")
    lines += [f"# Look at {one}." for one in (*inferred.conflicts, *_problems(machine, analysis))]
    return lines


def passing_on(analysis: Analysis) -> list[str]:
    """Return the states that pass the whole input on."""
    states = [read.state for read in analysis.reads if not read.path and read.use.passed_on]
    return list(dict.fromkeys(states))[:5]


def _problems(machine: Machine, analysis: Analysis) -> tuple[str, ...]:
    faults = islice(faults_of(machine.definition), _MOST_FAULTS)
    problems = [f"the definition, which Step Functions refuses: {one}" for one in faults]
    problems += [f"state {one}" for one in analysis.unreadable]
    if any(read.certain and _is_of_an_array(read) for read in analysis.reads):
        takes_both = any(read.path and read.path[0] != EACH for read in analysis.reads)
        problems.append(_TAKES_BOTH if takes_both else _TAKES_AN_ARRAY)
    return tuple(problems)


def _is_of_an_array(read: Read) -> bool:
    return read.path[:1] == (EACH,) or (not read.path and read.use.needed and read.use.types == LIST)


def _notes(
    machine: Machine, history: History, timings: Timings, inferred: Inferred, about: Described
) -> dict[tuple[str, ...], str]:
    notes = {("input_schema", *path): note for path, note in inferred.notes.items() if note}
    notes |= {("state_machine",): machine.placeholder} if machine.placeholder else {}
    notes["ttl",] = timings.why_ttl
    notes["poll_interval",] = timings.why_poll
    if not about.source:
        notes["description",] = "nobody has written what it is for: say what it does, and when to use it"
    elif about.source != COMMENT:
        notes["description",] = f"from {about.source}"
    if machine.is_express:
        notes["task_support",] = "its type is EXPRESS: calls wait for the end, and there is no task"
    elif timings.is_quick:
        notes["task_support",] = f"each of {len(history.seconds)} runs ended within seconds"
    if history.outputs.count:
        notes["output_schema",] = f"from {history.outputs.count} outputs; nothing is required"
    return notes


def iso(duration: timedelta) -> str:
    """Return a duration as manifests write it."""
    seconds = int(duration.total_seconds())
    for length, before, unit in ((86_400, "P", "D"), (3_600, "PT", "H"), (60, "PT", "M")):
        if seconds and not seconds % length:
            return f"{before}{seconds // length}{unit}"
    return f"PT{seconds}S"


def compact(manifest: JsonObject) -> str:
    """Return a manifest, or a part of it, as JSON that a parameter takes."""
    return without_references(write(manifest))


def fitted(schema: JsonObject, size: int) -> JsonObject:
    """Return a schema of at most that many bytes, with as many levels of properties as fit."""
    for depth in range(_DEEPEST, 0, -1):
        if len(compact(shorter := cut(schema, depth)).encode()) <= size:
            return shorter
    return {"type": "object"}


def cut(schema: JsonObject, depth: int) -> JsonObject:
    """Return a schema without the properties of deeper levels."""
    shown = {name: one for name, one in schema.items() if name not in ("properties", "required", "items")}
    if depth < 1:
        return shown
    if "properties" in schema:
        members = as_object(schema["properties"])
        shown["properties"] = {name: cut(as_object(one), depth - 1) for name, one in members.items()}
    if "required" in schema:
        shown["required"] = schema["required"]
    if "items" in schema and depth > 1:
        shown["items"] = cut(as_object(schema["items"]), depth - 1)
    return shown
