"""The catalog: what a client may call, read from its compiled form.

The manifests are checked and compiled when the function is built (`manifests`), so no YAML parser and no schema
compiler runs before a request needs one.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from enum import Enum
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct

from stepwire.catalog.additions import NOTHING_ADDED, Additions, additions_of
from stepwire.errors import CatalogError, UnknownTool
from stepwire.json_text import JsonObject, as_object, load_json, write
from stepwire.protocol.parameter_headers import ParameterHeader, parameter_headers
from stepwire.schemas.defaults import Defaults
from stepwire.schemas.validation import compile_ahead
from stepwire.tasks.inputs import FormElicitation
from stepwire.tasks.question_schemas import LONGEST_QUESTION
from stepwire.tasks.retries import Attempt, Retry
from stepwire.tasks.task import Causes
from stepwire.visible_text import quoted

if TYPE_CHECKING:
    from stepwire.tasks.races import Race

FORMAT: Final = 1
"""The format of a compiled catalog. A version serves no tools of a format that it does not know."""
NAME_PATTERN: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")  # M34
ARGUMENT_PATTERN: Final = re.compile(r"\{([A-Za-z0-9_-]+)\}")
"""Where the question of a `confirm` has the value of an argument."""
RESULT_TOOL: Final = "task_result"
CANCEL_TOOL: Final = "task_cancel"
ANSWER_TOOL: Final = "task_answer"
LIST_TOOL: Final = "task_list"
CARD_TASK_TOOL: Final = "card_task"
CARD_ANSWER_TOOL: Final = "card_answer"
CARD_CANCEL_TOOL: Final = "card_cancel"
CARD_TOOLS: Final = frozenset({CARD_TASK_TOOL, CARD_ANSWER_TOOL, CARD_CANCEL_TOOL})
"""The names of the tools that only a card calls."""
OWN_TOOLS: Final = frozenset({RESULT_TOOL, CANCEL_TOOL, ANSWER_TOOL, LIST_TOOL}) | CARD_TOOLS
"""The names of Stepwire's own tools, for clients without tasks and for cards; no manifest may take one."""
ARN_PATTERN: Final = re.compile(r"arn:[a-z-]+:states:[a-z0-9-]+:\d{12}:stateMachine:[^:]+(:[A-Za-z0-9_.-]+)?")


class TaskSupport(Enum):
    """Whether a call of the tool may, must or cannot be a task."""

    OPTIONAL = "optional"
    REQUIRED = "required"
    FORBIDDEN = "forbidden"


class Confirmation(Struct, frozen=True):
    """What a user is asked before the workflow begins."""

    key: str
    message: str
    """With {name} where the value of that argument belongs."""
    requested_schema: str
    """JSON text."""
    input_key: str | None
    """Where in the workflow's input the user's answers go; None: nowhere."""

    def elicitation(self, arguments: JsonObject) -> FormElicitation:
        """Ask about a call with these arguments."""
        # A model may have written the arguments to mislead: what is confirmed is what is shown.
        shown = {name: quoted(arguments[name]) for name in ARGUMENT_PATTERN.findall(self.message) if name in arguments}
        message = ARGUMENT_PATTERN.sub(lambda found: shown.get(found[1], "not given"), self.message)
        return FormElicitation(message[:LONGEST_QUESTION], self.requested_schema)


class Idempotency(Struct, frozen=True):
    """Which arguments make calls equal: an equal call within the window gets the first one's task."""

    arguments: tuple[str, ...]
    """Names of required arguments whose values are not nested."""
    window: timedelta
    """How long after a call began an equal one is its repetition."""


class Tool(Struct, frozen=True, dict=True):
    """A state machine that clients may run, with all that they are told of it."""

    name: str
    title: str | None
    description: str
    state_machine_arn: str
    input_schema: str
    """JSON text, with the keys in the manifest's order."""
    output_schema: str | None
    task_support: TaskSupport
    ttl: timedelta
    """How long a task is kept, from its creation; a client may ask for longer."""
    poll_interval: timedelta
    """The first hint; it grows with the age of a task."""
    longest_poll_interval: timedelta
    annotations: JsonObject | None
    client_capabilities: JsonObject
    """What a client must declare to call the tool, in the shape in which it declares it."""
    confirmation: Confirmation | None = None
    shows_state: bool = True
    """Whether the caller may read the names of the workflow's states."""
    result_bucket: str | None = None
    """The bucket in S3 where its workflow leaves what is too large for an output."""
    result_prefix: str | None = None
    """What the keys of such objects begin with, with variables; None: the name of the task's execution."""
    keep_result: timedelta = timedelta()
    """How long a task is kept after its end at least, whatever is left of its ttl."""
    causes: Causes = Causes.REDACTED
    """How much of the cause of a failure its callers get to read."""
    model_may_answer: bool = False
    """Whether a model may answer the workflow's questions (`task_answer`); never the confirmation before the work."""
    scopes: tuple[str, ...] = ()
    """What a caller's token must allow, beside what every call needs."""
    idempotency: Idempotency | None = None
    """Makes an idempotency key for calls whose client sends none; None: such calls are never repetitions."""
    additions: Additions = NOTHING_ADDED
    """What the workflow gets beside the arguments."""
    output_shape: str | None = None
    """JSON text of how its output becomes the result; None: as it is."""
    is_express: bool = False
    """Whether its state machine is of type EXPRESS: a call waits for the end, and never is a task."""
    role: str = ""
    """ARN of the role that runs a state machine of another account or Region; empty: the functions' own."""
    retry: Retry | None = None
    """Which failures of its workflow, or of an arm of its race, are retried; None: none."""
    race: "Race | None" = None
    """The state machines that race for the result of each call; None: there is one."""
    card: bool = True
    """Whether hosts with MCP Apps are told of its card."""

    @property
    def has_card(self) -> bool:
        """Tell whether a host may show a card of its tasks; a tool that never is a task has none to show."""
        return self.card and self.task_support is not TaskSupport.FORBIDDEN and not self.is_express

    @cached_property
    def parameter_headers(self) -> tuple[ParameterHeader, ...]:
        """What a client repeats in headers."""
        return parameter_headers(as_object(load_json(self.input_schema)))

    @cached_property
    def defaults(self) -> Defaults | None:
        """The defaults of the input schema; None if it has none."""
        return Defaults(as_object(load_json(self.input_schema))) if '"default"' in self.input_schema else None


class Tools(Protocol):
    """The tools that clients may call: of a catalog, or of the one in force now."""

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools by name."""
        ...

    @property
    def in_order(self) -> tuple[Tool, ...]:
        """The tools in the order of their names."""
        ...

    def find(self, name: str) -> Tool:
        """Return the tool of that name.

        Raises:
            UnknownTool: there is none.
        """
        ...

    def known(self, name: str) -> Tool | None:
        """Return the tool of that name as far as it is known without asking anew; None if it is not."""
        ...


class Catalog(Struct, frozen=True, dict=True):
    """All tools, by name; listed in the order of their names."""

    tools: Mapping[str, Tool]

    def find(self, name: str) -> Tool:
        """Give the tool of that name.

        Raises:
            UnknownTool: there is none.
        """
        tool = self.known(name)
        if tool is None:
            raise UnknownTool(f"Unknown tool {name[:80]!r}. tools/list names the tools there are.")
        return tool

    def known(self, name: str) -> Tool | None:
        """Return the tool of that name; None if there is none."""
        return self.tools.get(name)

    @property
    def in_order(self) -> tuple[Tool, ...]:
        """The tools as they are listed."""
        return self._in_order

    @cached_property
    def _in_order(self) -> tuple[Tool, ...]:
        return tuple(self.tools[name] for name in sorted(self.tools))

    def compile_schemas(self) -> None:
        """Compile what arguments, outputs and answers are held against, where no request waits for it."""
        for tool in self.in_order:
            _ = tool.defaults
            asked = tool.confirmation.requested_schema if tool.confirmation else None
            for schema in (tool.input_schema, tool.output_schema, asked):
                if schema is not None:
                    compile_ahead(schema)


def read_catalog(compiled: str, state_machines: Mapping[str, str]) -> Catalog:
    """Read what `stepwire.catalog.manifests` compiled.

    Args:
        compiled: the text of catalog.json.
        state_machines: the ARN of each state machine that manifests may name.

    Raises:
        CatalogError: another format, or a manifest that names an unknown state machine.
    """
    try:
        document = as_object(load_json(compiled))
    except ValueError:
        document = {}
    if document.get("format") != FORMAT:
        raise CatalogError("catalog.json is not what this version of Stepwire compiles: run `make catalog` again")
    tools = (_tool(entry, state_machines) for entry in document["tools"])
    return Catalog(MappingProxyType({tool.name: tool for tool in tools}))


def _tool(entry: JsonObject, state_machines: Mapping[str, str]) -> Tool:
    retry = _retry(entry.get("retry"))
    return Tool(
        name=entry["name"],
        title=entry.get("title"),
        description=entry["description"],
        state_machine_arn=_state_machine_arn(entry, state_machines),
        input_schema=write(entry["input_schema"]),
        output_schema=write(entry["output_schema"]) if "output_schema" in entry else None,
        task_support=TaskSupport(entry["task_support"]),
        ttl=timedelta(milliseconds=entry["ttl_ms"]),
        poll_interval=timedelta(milliseconds=entry["poll_interval_ms"]),
        longest_poll_interval=timedelta(milliseconds=entry["longest_poll_interval_ms"]),
        annotations=entry.get("annotations"),
        client_capabilities=entry.get("client_capabilities", {}),
        confirmation=_confirmation(entry.get("confirm")),
        shows_state=entry["show_state"],
        result_bucket=entry.get("result_bucket"),
        result_prefix=entry.get("result_prefix"),
        keep_result=timedelta(milliseconds=entry.get("keep_result_ms", 0)),
        causes=Causes(entry.get("show_errors", Causes.REDACTED.value)),
        model_may_answer=entry.get("model_may_answer", False),
        scopes=tuple(entry.get("scopes", ())),
        idempotency=_idempotency(entry.get("idempotency")),
        additions=additions_of(entry),
        output_shape=write(entry["output"]) if "output" in entry else None,
        is_express=entry.get("express", False),
        role=entry.get("role", ""),
        retry=retry,
        race=_race(entry, retry, state_machines),
        card=entry.get("card", True),
    )


def _confirmation(entry: JsonObject | None) -> Confirmation | None:
    if entry is None:
        return None
    return Confirmation(entry["key"], entry["message"], write(entry["schema"]), entry.get("input_key"))


def _idempotency(entry: JsonObject | None) -> Idempotency | None:
    if entry is None:
        return None
    return Idempotency(tuple(entry["arguments"]), timedelta(milliseconds=entry["window_ms"]))


def _retry(entry: JsonObject | None) -> Retry | None:
    if entry is None:
        return None
    return Retry(
        entry["attempts"],
        tuple(entry["errors"]),
        entry["mode"] == "redrive",
        entry["fallback"] == "restart",
        timedelta(milliseconds=entry["delay_ms"]),
        float(entry["backoff"]),
        timedelta(milliseconds=entry["longest_delay_ms"]),
        entry["jitter"] == "full",
    )


def _race(entry: JsonObject, retry: Retry | None, state_machines: Mapping[str, str]) -> "Race | None":
    if "race" not in entry:
        return None
    from stepwire.tasks.ids import LETTERS  # noqa: PLC0415 - few tools race
    from stepwire.tasks.races import NO_RETRY, Arm, Race  # noqa: PLC0415 - few tools race

    arms = tuple(
        Arm(
            arm["name"],
            letter,
            _arn_of(arm["state_machine"], entry, state_machines),
            arm.get("role", ""),
            write(arm["constants"]) if arm.get("constants") else "",
            timedelta(milliseconds=arm.get("delay_ms", 0)),
            Attempt(retry or NO_RETRY),
        )
        for letter, arm in zip(LETTERS, entry["race"]["arms"], strict=False)
    )
    return Race(arms, entry["race"]["quorum"], entry["race"].get("slots", 1))


def _state_machine_arn(entry: JsonObject, state_machines: Mapping[str, str]) -> str:
    return _arn_of(entry["state_machine"], entry, state_machines)


def _arn_of(name: str, entry: JsonObject, state_machines: Mapping[str, str]) -> str:
    arn = state_machines.get(name, name)
    if not ARN_PATTERN.fullmatch(arn):
        known = ", ".join(sorted(state_machines)) or "none"
        raise CatalogError(
            f"{entry['source']}: state_machine: {name!r} is neither an ARN of a state machine nor a name in the "
            f"function's STATE_MACHINES (known: {known})"
        )
    return arn
