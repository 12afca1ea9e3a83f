"""The manifests of the tools: read, check, compile. Runs when a function is built and never in one.

    python -m stepwire.catalog.manifests FOLDER [--output catalog.json] [--names release_tools.json]

One manifest a tool, `FOLDER/<name>.yaml`. Whatever is wrong is said with the file and the field, all of it at once.
"""

import argparse
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, cast

from msgspec import Struct
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from stepwire.catalog.manifest_faults import (
    fault_words,
    invisible_faults,
    invisible_words,
    not_utf8,
    unforeseen,
    unknown_field,
    wrong_types,
)
from stepwire.catalog.manifest_input import ContextFields, InputFields, added_faults
from stepwire.catalog.manifest_output import OutputFields, output_faults
from stepwire.catalog.manifest_race import ArmFields, RaceFields, constants_faults, race_faults
from stepwire.catalog.manifest_retry import RetryFields
from stepwire.catalog.manifest_yaml import read_yaml
from stepwire.catalog.tools import ARGUMENT_PATTERN, FORMAT, NAME_PATTERN, OWN_TOOLS, TaskSupport
from stepwire.errors import CatalogError
from stepwire.json_text import JsonObject, as_object, load_json, write
from stepwire.protocol.parameter_headers import check_annotations
from stepwire.schemas.defaults import default_faults
from stepwire.schemas.validation import SchemaError, check_schema
from stepwire.tasks.inputs import KEY_PATTERN, InvalidQuestion, elicitation_of
from stepwire.tasks.links import PRINCIPAL, TASK_ID
from stepwire.tasks.task import LONGEST_TTL

DEFAULT_WINDOW: Final = timedelta(hours=1)
# An older claim of a key is one whose request is over (`IdempotentCalls`).
SHORTEST_WINDOW: Final = timedelta(minutes=1)
_PLAIN_TYPES: Final = frozenset({"string", "integer", "number", "boolean", "null"})
ROLE_PATTERN: Final = r"^arn:[a-z-]+:iam::[0-9]{12}:role/[A-Za-z0-9_+=,.@/-]+$"
LARGEST_SCHEMA: Final = 32_768  # bytes; it is kept with each task, in an item that has a limit


def _object_schema(schema: JsonObject) -> JsonObject:
    """M35: a client gives arguments as an object."""
    if schema.get("type") != "object":
        raise ValueError("at type: must be 'object'")
    check_annotations(_schema(schema))
    for fault in default_faults(schema):
        raise ValueError(fault)
    return schema


def _visible_title(text: str) -> str:
    for fault in invisible_faults(text):
        raise ValueError(fault)
    return text


def _visible_text(text: str) -> str:
    for fault in invisible_faults(text, keep="\n\r\t"):
        raise ValueError(fault)
    return text


def _free_name(name: str) -> str:
    if name in OWN_TOOLS:
        raise ValueError(f"{name} is a tool of Stepwire's own: choose another name")
    return name


def _schema(schema: JsonObject) -> JsonObject:
    if len(write(schema).encode()) > LARGEST_SCHEMA:
        raise ValueError(f"larger than {LARGEST_SCHEMA} bytes of JSON")
    try:
        check_schema(schema)
    except SchemaError as error:
        raise ValueError(next(wrong_types(schema), str(error))) from None
    for fault in invisible_words(schema):
        raise ValueError(fault)
    return schema


class Annotations(BaseModel):
    """What a client may tell its user of a tool's behaviour: hints of the protocol, no guarantees."""

    model_config = ConfigDict(extra="forbid", strict=True)

    title: Annotated[str, AfterValidator(_visible_title)] | None = None
    readOnlyHint: bool | None = None  # noqa: N815 - the wire's names, as users know them
    destructiveHint: bool | None = None  # noqa: N815
    idempotentHint: bool | None = None  # noqa: N815
    openWorldHint: bool | None = None  # noqa: N815


class Confirm(BaseModel):
    """What the user is asked before the workflow begins."""

    model_config = ConfigDict(extra="forbid")

    message: Annotated[str, AfterValidator(_visible_text)]
    key: str = Field(default="confirm", pattern=f"^{KEY_PATTERN.pattern}$")
    # Named as clients know it would be `requestedSchema`; here it stands beside `input_schema`.
    schema_: JsonObject = Field(default_factory=lambda: {"type": "object", "properties": {}}, alias="schema")
    input_key: str | None = Field(default=None, min_length=1, max_length=64)

    @model_validator(mode="after")
    def check_form(self) -> Self:
        """Check that clients can show the form: simple fields only (M47)."""
        try:
            elicitation_of({"message": self.message, "requestedSchema": self.schema_})
        except InvalidQuestion as error:
            raise ValueError(str(error).replace("/requestedSchema", "/schema")) from None
        return self


class Idempotency(BaseModel):
    """Which arguments make calls equal, and for how long."""

    model_config = ConfigDict(extra="forbid")

    arguments: list[str] = Field(min_length=1)
    window: timedelta | None = Field(default=None, ge=SHORTEST_WINDOW, le=LONGEST_TTL)

    @model_validator(mode="before")
    @classmethod
    def takes_a_list(cls, value: Any) -> Any:
        """Read the short form: the arguments alone."""
        return {"arguments": cast(Any, value)} if isinstance(value, list) else value


class Machine(Struct, frozen=True):
    """A state machine as a manifest names it."""

    name: str
    """Its name or its ARN, also that of a version or an alias."""
    role: str | None = None


class Manifest(BaseModel):
    """A tool as its author describes it."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, AfterValidator(_free_name)] = Field(pattern=f"^{NAME_PATTERN.pattern}$")
    title: Annotated[str, AfterValidator(_visible_title)] | None = Field(default=None, min_length=1, max_length=200)
    description: Annotated[str, AfterValidator(_visible_text)] = Field(min_length=1, max_length=10_000)
    state_machine: str | None = Field(min_length=1)
    role: str | None = Field(default=None, pattern=ROLE_PATTERN, max_length=2048)
    input_schema: Annotated[JsonObject, AfterValidator(_object_schema)]
    output_schema: Annotated[JsonObject, AfterValidator(_schema)] | None = None
    task_support: TaskSupport = TaskSupport.OPTIONAL
    ttl: timedelta = Field(default=timedelta(days=7), ge=timedelta(minutes=1), le=LONGEST_TTL)
    keep_result: timedelta = Field(default=timedelta(days=1), ge=timedelta(), le=LONGEST_TTL)
    poll_interval: timedelta = Field(
        default=timedelta(seconds=2), ge=timedelta(milliseconds=100), le=timedelta(hours=1)
    )
    longest_poll_interval: timedelta = Field(
        default=timedelta(minutes=1), ge=timedelta(milliseconds=100), le=timedelta(hours=1)
    )
    annotations: Annotations | None = None
    client_capabilities: dict[str, JsonObject] = Field(default_factory=dict[str, JsonObject])
    confirm: Confirm | None = None
    show_state: bool = True
    result_bucket: str | None = Field(default=None, pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")
    # What S3 calls safe characters, and the variables.
    result_prefix: str | None = Field(
        default=None, pattern=r"^(([A-Za-z0-9!_.*'()-]|\{principal\}|\{task_id\})+/)+$", max_length=200
    )
    model_may_answer: bool = False
    show_errors: Literal["names", "redacted", "causes"] | None = None
    # RFC 6749: what a scope may be made of.
    scopes: list[Annotated[str, Field(pattern=r"^[\x21\x23-\x5b\x5d-\x7e]{1,200}$")]] = Field(default_factory=list[str])
    idempotency: Idempotency | None = None
    input: InputFields | None = None
    context: ContextFields | None = None
    output: OutputFields | None = None
    race: RaceFields | None = None
    retry: RetryFields | None = None
    card: bool = True

    @property
    def machines(self) -> tuple[Machine, ...]:
        """The state machines that its calls start: one, or those of the arms in their order."""
        if self.race is None:
            return (Machine(self.state_machine or "", self.role),)
        arms: list[JsonObject] = self.race.compiled(self.state_machine, self.role)["arms"]
        return tuple(Machine(arm["state_machine"], arm.get("role")) for arm in arms)

    @model_validator(mode="before")
    @classmethod
    def has_machines_of_arms(cls, value: Any) -> Any:
        """Let the arms of a race name the state machines."""
        fields = as_object(value)
        return {**fields, "state_machine": None} if "race" in fields and "state_machine" not in fields else value

    @model_validator(mode="after")
    def names_its_machines(self) -> Self:
        """Check that there is a state machine, or one for each arm of a race."""
        for fault in race_faults(self.race, self.state_machine, self.role, self.ttl):
            raise ValueError(fault)
        return self

    @model_validator(mode="after")
    def keeps_what_is_stored_small(self) -> Self:
        """Check that the shape of the output fits the promised schema, and the task's item."""
        for fault in output_faults(self.output, self.output_schema, LARGEST_SCHEMA):
            raise ValueError(fault)
        return self

    @model_validator(mode="after")
    def keeps_added_names_apart(self) -> Self:
        """Check that what the server adds to the input has names of its own."""
        confirm_key = self.confirm.input_key if self.confirm else None
        for fault in added_faults(self.input_schema, self.input, self.context, confirm_key):
            raise ValueError(fault)
        for fault in constants_faults(self.race, self.input_schema, self.input, self.context, confirm_key):
            raise ValueError(fault)
        return self

    @model_validator(mode="after")
    def check_result_prefix(self) -> Self:
        """Check that the prefix of result links keeps callers apart: it must contain the principal or the task id."""
        if self.output is not None and self.output.object is not None and self.result_bucket is None:
            raise ValueError("at output.object: there is no result_bucket that it could be in")
        if self.result_prefix is None:
            return self
        if self.result_bucket is None:
            raise ValueError("at result_prefix: there is no result_bucket that it could be in")
        if PRINCIPAL not in self.result_prefix and TASK_ID not in self.result_prefix:
            raise ValueError(f"at result_prefix: must have {PRINCIPAL} or {TASK_ID} in it")
        if {".", ".."} & set(self.result_prefix.split("/")):
            raise ValueError("at result_prefix: must have no . or .. between slashes")
        return self

    @model_validator(mode="after")
    def check_confirmation_arguments(self) -> Self:
        """Check that `confirm.message` names only properties of `input_schema`, and `confirm.input_key` none."""
        if self.confirm is None:
            return self
        properties = self.input_schema.get("properties", {})
        for name in ARGUMENT_PATTERN.findall(self.confirm.message):
            if name not in properties:
                raise ValueError(f"at confirm.message: {{{name}}} is no property of input_schema")
        if self.confirm.input_key in properties:
            raise ValueError(f"at confirm.input_key: {self.confirm.input_key!r} is a property of input_schema already")
        return self

    @model_validator(mode="after")
    def makes_a_key_of_plain_arguments(self) -> Self:
        """A key must be there in every call, mean one thing, and end no later than the task that it stands for."""
        if self.idempotency is None:
            return self
        for name in self.idempotency.arguments:
            problem = _key_problem(self.input_schema, name)
            if problem is not None:
                raise ValueError(f"at idempotency.arguments: {name!r} {problem}")
        if len(set(self.idempotency.arguments)) < len(self.idempotency.arguments):
            raise ValueError("at idempotency.arguments: a name is given twice")
        if self.idempotency.window is not None and self.idempotency.window > self.ttl:
            raise ValueError("at idempotency.window: must not be longer than ttl, after which there is no task to get")
        return self

    def compiled(self) -> JsonObject:
        """Give the form that the function reads; times are milliseconds."""
        entry = self.model_dump(
            mode="json",
            exclude_none=True,
            exclude={"ttl", "keep_result", "poll_interval", "longest_poll_interval", "idempotency", "card"},
            by_alias=True,
        )
        # As written: dumping a schema through the model would drop its nulls.
        schemas = {name: getattr(self, name) for name in ("input_schema", "output_schema") if getattr(self, name)}
        if self.output is not None:
            schemas["output"] = self.output.compiled()
        if self.retry is not None:
            schemas["retry"] = self.retry.compiled()
        if self.race is not None:
            schemas["race"] = self.race.compiled(self.state_machine, self.role)
            # A race is also known by its first arm, wherever one machine stands for a tool.
            schemas["state_machine"] = self.machines[0].name
            entry.pop("role", None)
        if self.input is not None:
            schemas["input"] = {"constants": self.input.constants, "defaults": self.input.defaults}
        return {
            **entry,
            **schemas,
            **self._compiled_idempotency(),
            **({} if self.card else {"card": False}),
            "ttl_ms": _milliseconds(self.ttl),
            "keep_result_ms": _milliseconds(self.keep_result),
            "poll_interval_ms": _milliseconds(self.poll_interval),
            "longest_poll_interval_ms": _milliseconds(max(self.poll_interval, self.longest_poll_interval)),
        }

    def _compiled_idempotency(self) -> JsonObject:
        if self.idempotency is None:
            return {}
        window = self.idempotency.window or min(DEFAULT_WINDOW, self.ttl)
        return {"idempotency": {"arguments": self.idempotency.arguments, "window_ms": _milliseconds(window)}}


_NESTED: Final[dict[str, type[BaseModel]]] = {
    "annotations": Annotations,
    "confirm": Confirm,
    "context": ContextFields,
    "idempotency": Idempotency,
    "input": InputFields,
    "output": OutputFields,
    "race": RaceFields,
    "race.arms": ArmFields,
    "retry": RetryFields,
}


def models_of_fields() -> Mapping[str, type[BaseModel]]:
    """Return the models of the fields, by their paths, that have fields of their own or are lists of such."""
    return _NESTED


def _key_problem(input_schema: JsonObject, name: str) -> str | None:
    """Return why an argument cannot be a part of an idempotency key; None if it can."""
    properties = as_object(input_schema.get("properties"))
    if name not in properties:
        return "is no property of input_schema"
    if name not in input_schema.get("required", ()):
        return "is not required by input_schema: a call without it would be equal to any other without it"
    schema = as_object(properties[name])
    if {"type", "enum", "const"}.isdisjoint(schema):
        return f"must have a type in input_schema: {', '.join(sorted(_PLAIN_TYPES))}"
    listed = schema.get("type", [])
    types = set(cast(list[str], listed if isinstance(listed, list) else [listed]))
    values = [*schema.get("enum", []), *([schema["const"]] if "const" in schema else [])]
    if not types <= _PLAIN_TYPES or any(isinstance(value, dict | list) for value in values):
        return f"may be nested: a key is made of {', '.join(sorted(_PLAIN_TYPES))} only"
    return None


def compile_directory(folder: Path) -> str:
    """Check all manifests of a folder, which may have none, and give the text of its catalog.json.

    Raises:
        CatalogError: something is wrong; one line a fault, each with file and field.
    """
    faults = [f"{path}: a manifest must end in .yaml" for path in sorted(folder.glob("*.yml"))]
    entries: dict[str, JsonObject] = {}
    for path in sorted(folder.glob("*.yaml")):
        try:
            entry = _compiled_file(path)
        except CatalogError as error:
            faults.append(str(error))
            continue
        first = entries.setdefault(entry["name"], entry)
        if first is not entry:
            faults.append(f"{path}: name: {entry['name']!r} is also the name in {first['source']}")
    if not folder.is_dir():
        faults.append(f"{folder}: there is no such folder")
    if faults:
        raise CatalogError("\n".join(faults))
    return write({"format": FORMAT, "tools": list(entries.values())})


def names_in(compiled: str) -> str:
    """Return, as JSON text, the names of the tools in a catalog.json, each with its file."""
    tools: list[JsonObject] = load_json(compiled)["tools"]
    return write({tool["name"]: tool["source"] for tool in tools})


def read_manifest(text: str) -> Manifest:
    """Read the YAML, or JSON, text of a manifest.

    Raises:
        CatalogError: something is wrong; one line a fault, each with its field. Also if the fault is one of Stepwire's.
    """
    with _faults_of_one():
        try:
            return Manifest.model_validate(read_yaml(text))
        except ValidationError as error:
            raise CatalogError("\n".join(_faults(error))) from None


@contextmanager
def _faults_of_one() -> Generator[None]:
    """Raise whatever one manifest raises as a CatalogError, so that no other manifest suffers from it."""
    try:
        yield
    except (CatalogError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as fault:  # a panic of a library in Rust is no Exception
        raise CatalogError(unforeseen(fault)) from fault


def _compiled_file(path: Path) -> JsonObject:
    try:
        manifest = read_manifest(_text_of(path))
        with _faults_of_one():
            return {"source": str(path), **manifest.compiled()}
    except OSError as error:
        raise CatalogError(f"{path}: cannot be read: {error.strerror}") from None
    except CatalogError as error:
        raise CatalogError("\n".join(f"{path}: {fault}" for fault in str(error).split("\n"))) from None


def _text_of(path: Path) -> str:
    content = path.read_bytes()
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CatalogError(not_utf8(content, error.start)) from None


def _faults(error: ValidationError) -> list[str]:
    faults = (f"{'.'.join(_path_of(fault)) or 'the file'}: {_words_of(fault)}" for fault in error.errors())
    return list(dict.fromkeys(faults))  # a field of several types has a fault for each


def _path_of(fault: ErrorDetails) -> list[str]:
    """Return the names and positions that lead to a field, without the type that a union was tried with."""
    path = list(map(str, fault["loc"]))
    return path[:2] if path[:2] == ["output", "structured"] else path


def _words_of(fault: ErrorDetails) -> str:
    *path, name = map(str, fault["loc"] or [""])
    if fault["type"] == "extra_forbidden":
        fields = _NESTED.get(".".join(part for part in path if not part.isdecimal()), Manifest).model_fields
        return unknown_field(name, [field.alias or known for known, field in fields.items()])
    if fault["type"] == "value_error":
        return fault["msg"].removeprefix("Value error, ")
    return fault_words(fault["type"], [*path, name], fault["input"], fault.get("ctx", {}))


def _milliseconds(duration: timedelta) -> int:
    return duration // timedelta(milliseconds=1)


def main(arguments: list[str] | None = None) -> int:
    """Check the manifests of a folder, and write their compiled form where asked to."""
    parser = argparse.ArgumentParser(
        prog="python -m stepwire.catalog.manifests", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--names", type=Path, help="where to write the names of the tools, each with its file")
    parser.add_argument("--output", type=Path, help="where to write catalog.json; without it, the check is all")
    options = parser.parse_args(arguments)
    try:
        compiled = compile_directory(options.folder)
    except CatalogError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if options.names:
        options.names.write_text(names_in(compiled), encoding="utf-8")
    if options.output:
        options.output.write_text(compiled, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
