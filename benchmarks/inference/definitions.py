"""Hold the drafts of definitions that somebody else wrote against the compiler of manifests."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, cast

import yaml

from stepwire.errors import CatalogError
from stepwire.json_text import Json, JsonObject, as_object
from stepwire.manifests.reading import read_manifest
from stepwire_wrap.definitions.drafts import Draft, History, Machine, draft
from stepwire_wrap.definitions.findings import findings_of
from stepwire_wrap.definitions.names import tool_name
from stepwire_wrap.findings import Finding, Severity

_KINDS: Final = (".json", ".yaml", ".yml", ".json5")
_ARN: Final = "arn:aws:states:eu-central-1:123456789012:stateMachine:"


def measured(folder: Path) -> Iterator[str]:
    """Yield the figures of all definitions of a folder, and what is wrong with which."""
    count = Counter[str]()
    for path in sorted(one for one in folder.rglob("*") if one.suffix in _KINDS):
        definition = _read(path)
        if definition is None:
            count["files that are no JSON or YAML"] += 1
            yield f"{path}: no JSON or YAML"
        elif "StartAt" in definition:
            made = draft(tool_name(path.stem), Machine(f"{_ARN}{path.stem[:80]}", path.stem, definition), History())
            faults = list(_faults(made))
            wrong = [str(one) for one in _found(made) if one.severity is Severity.ERROR]
            count.update(_counted(made, is_accepted=not faults, is_healthy=not faults and not wrong))
            yield from (f"{path}: {fault}" for fault in (*faults, *wrong, *made.conflicts))
    yield from (f"{number:6} {name}" for name, number in sorted(count.items()))


def _read(path: Path) -> JsonObject | None:
    try:
        text = path.read_text(encoding="utf-8")
        value: Json = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError):
        return None
    return as_object(cast(object, value))


def _faults(made: Draft) -> Iterator[str]:
    for kind, text in (("manifest", made.text), ("parameter", made.parameter())):
        try:
            read_manifest(text)
        except CatalogError as error:
            yield f"{kind}: {error}"


def _found(made: Draft) -> list[Finding]:
    try:
        manifest = read_manifest(made.text)
    except CatalogError:
        return []
    return findings_of(made.name, manifest, manifest.machines[0].name, made.machine, History())


def _counted(made: Draft, *, is_accepted: bool, is_healthy: bool) -> Iterator[str]:
    yield "definitions"
    schema = made.manifest["input_schema"]
    if is_accepted:
        yield "definitions whose draft the compiler accepts"
    if is_healthy:
        yield "definitions of whose draft the doctor says no error"
    if made.conflicts:
        yield "definitions with something to look at"
    for word, name in (("properties", "properties"), ("required", "required properties")):
        if word in schema:
            yield f"definitions of which {name} of the input are found"
