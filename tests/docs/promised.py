"""The names that docs/promises.md promises, taken from the code, and the record of those that were released.

    python -m tests.docs.promised            # adds what is new to promised.json
    python -m tests.docs.promised --major    # also takes away what is gone: a new major version

A name that a user may write or read is a key; what must not change about it (its type, its default, its number) is the
value. So a version that only adds names adds lines to the record, and any other version changes lines that are there.
"""

import inspect
import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, TypeAlias, cast
from unittest.mock import patch

import typer.main

import stepwire_client
from stepwire import errors
from stepwire.audit import AuditEntry, EndSource
from stepwire.aws.audit_log import write_audit_entry
from stepwire.composition import EXTRAS, switched_on
from stepwire.principal import principal_of
from stepwire.server.composition import parts_with
from stepwire.server.eras import methods_with
from stepwire.tracing import follow
from stepwire_cli.app import app
from stepwire_cli.exits import Exit
from stepwire_client import TaskClient, connect
from tests.docs.audit_schema import ACTIONS
from tests.docs.manifest_pages import schema
from tests.extras import parts, parts_of_the_kit
from tests.recorded import recorded as sample_event
from tests.template.document import template

RECORD: Final = Path(__file__).parent / "promised.json"
Names: TypeAlias = dict[str, Any]
_METRIC_FILTER: Final = "AWS::Logs::MetricFilter"


def promised() -> dict[str, Names]:
    """Return what this version has: the names of each part of the promise."""
    promises = {
        "wire": dict(wire()),
        "manifests": dict(members(schema())),
        "parameters": dict(parameters()),
        "outputs": dict.fromkeys(template()["Outputs"], ""),
        "events": dict(events()),
        "client": dict(client()),
        "command": dict(command()),
        "log": dict(log()),
    }
    return {part: dict(sorted(names.items())) for part, names in promises.items()}


def released() -> dict[str, Names]:
    """Return what the newest release has."""
    return cast(dict[str, Names], json.loads(RECORD.read_text(encoding="utf-8")))


def broken(before: dict[str, Names], now: dict[str, Names]) -> list[str]:
    """Return what of a release is missing or differs now."""
    return [
        f"{part}: {name}"
        for part, names in before.items()
        for name, value in names.items()
        if now.get(part, {}).get(name, None) != value
    ]


def wire() -> Iterator[tuple[str, Any]]:
    """Yield the methods of each version, and the number of each error."""
    for version, methods in methods_with(parts_with(switched_on(EXTRAS))).items():
        yield from ((f"{version} {method}", "") for method in methods)
    for name, kind in protocol_errors().items():
        if hasattr(kind, "code"):
            yield f"error {name}", [kind.code, kind.status]


def protocol_errors() -> dict[str, type[errors.ProtocolError]]:
    """Return the errors that a client may get, by their names."""
    named = {name: kind for module in (errors, *parts_of_the_kit("refusals")) for name, kind in vars(module).items()}
    return {
        name: kind for name, kind in named.items() if isinstance(kind, type) and issubclass(kind, errors.ProtocolError)
    }


def members(shape: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the members that a JSON Schema describes, with their types, and each value of an enumeration."""
    for one in [*shape.get("anyOf", []), *shape.get("oneOf", []), *([shape["items"]] if "items" in shape else [])]:
        yield from members(one, path)
    for name, described in shape.get("properties", {}).items():
        inner = f"{path}.{name}" if path else name
        needed = {"required": True} if name in shape.get("required", []) else {}
        yield inner, {key: described[key] for key in ("type", "default") if key in described} | needed
        yield from ((f"{inner}: {value}", "") for value in described.get("enum", []))
        yield from members(described, inner)


def parameters() -> Iterator[tuple[str, Any]]:
    """Yield the parameters of the template, and their values where they are a list."""
    for name, described in template()["Parameters"].items():
        yield name, {key: described[key] for key in ("Type", "Default") if key in described}
        yield from ((f"{name}={value}", "") for value in described.get("AllowedValues", []))


def events() -> Iterator[tuple[str, Any]]:
    """Yield the events for callers and those for operators, with their members."""
    for event in [event for part in parts("event_types") for event in part.listed(())]:
        kind, shape = event["name"], event["payloadSchema"]
        yield from ((f"{kind}: {name}", described) for name, described in members(shape))
    published = sample_event("task_status_changed")
    kind = published["detail-type"]
    yield from ((f"{kind}: {name}", type(value).__name__) for name, value in published["detail"].items())


def client() -> Iterator[tuple[str, Any]]:
    """Yield what `stepwire_client` exports: classes with their fields, and the calls with their parameters."""
    for name in stepwire_client.__all__:
        exported = getattr(stepwire_client, name)
        yield name, [base.__name__ for base in exported.__bases__] if inspect.isclass(exported) else ""
        yield from ((f"{name}.{field}", "") for field in getattr(exported, "__dataclass_fields__", {}))
    public = {f"TaskClient.{key}": value for key, value in vars(TaskClient).items() if not key.startswith("_")}
    for name, called in {"connect": connect, **public}.items():
        yield f"{name}()" if inspect.isfunction(called) else name, ""
        if not inspect.isfunction(called):
            continue
        given = [one for one in inspect.signature(called).parameters.values() if one.name != "self"]
        yield from ((f"{name}({one.name})", "required" if one.default is one.empty else "") for one in given)


def command() -> Iterator[tuple[str, Any]]:
    """Yield the commands with their options and arguments, and the exit codes."""
    yield from ((f"exit {int(code)}", "") for code in Exit)
    yield from _of_command("stepwire", typer.main.get_command(app))


def _of_command(name: str, found: Any) -> Iterator[tuple[str, Any]]:
    for one in found.params:
        # An option is its spellings; an argument is its place.
        spelled = [*one.opts, *one.secondary_opts] if one.param_type_name == "option" else [f"argument {one.name}"]
        yield from ((f"{name} {spelling}", "required" if one.required else "") for spelling in spelled)
    for inner, one in getattr(found, "commands", {}).items():
        yield f"{name} {inner}", ""
        yield from _of_command(f"{name} {inner}", one)


def log() -> Iterator[tuple[str, Any]]:
    """Yield the entries of the audit trail with their members, and the metrics."""
    owner = principal_of(("jwt", "https://issuer.example", "alice"), "a stack")
    follow(None)  # as before each event of a function: a test before this one may have followed a trace
    for action in ACTIONS:
        for outcome in ("completed", "completed_with_error", "failed", "cancelled"):
            entry = AuditEntry(action, owner, "a tool", "an id", outcome, timedelta(seconds=1), EndSource.EVENT)
            with redirect_stdout(io.StringIO()) as written, patch.dict(os.environ, TOOL_METRICS="on"):
                write_audit_entry(entry)
            line = json.loads(written.getvalue())
            (described,) = line.pop("_aws")["CloudWatchMetrics"]
            units = {metric["Name"]: metric["Unit"] for metric in described["Metrics"]}
            yield from ((f"metric {described['Namespace']} {name}", unit) for name, unit in units.items())
            yield f"entry {line['audit']}", ""
            yield from ((f"member {name}", "") for name in line if name not in units)
    for one in template()["Resources"].values():
        if one["Type"] == _METRIC_FILTER:
            yield from (
                (f"metric of the stack {metric['MetricName']}", "")
                for metric in one["Properties"]["MetricTransformations"]
            )


def main(words: list[str]) -> int:
    """Write the record, and return the exit code."""
    now = promised()
    before = released() if RECORD.exists() else {}
    if (gone := broken(before, now)) and words != ["--major"]:
        sys.stderr.write("\n  ".join(["Only a new major version may change or remove:", *gone]) + "\n")
        return 1
    RECORD.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
