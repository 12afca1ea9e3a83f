"""`stepwire doctor FOLDER`: each manifest and definition in a folder, one line a finding."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from stepwire.catalog.manifests import compile_directory, read_manifest
from stepwire.errors import CatalogError
from stepwire.json_text import as_object
from stepwire_cli.exits import CommandError, Exit
from stepwire_cli.findings import Finding, findings_in
from stepwire_cli.screen import Screen
from stepwire_cli.settings import Settings
from stepwire_cli.wrap.questions import bad_questions

_DEFINITIONS: Final = ("*.asl.json", "*.asl.yaml", "*.asl.yml")


def doctor(settings: Settings, folder: Path) -> int:
    """Print the findings.

    Raises:
        CommandError: there is no such folder, or nothing in it.
    """
    if not folder.is_dir():
        raise CommandError(f"{folder} is no folder.")
    if not [*folder.glob("*.yml"), *_manifests(folder), *_definitions(folder)]:
        raise CommandError(f"{folder} has no manifest (*.yaml) and no definition (*.asl.json, *.asl.yaml).")
    screen = Screen(as_json=settings.as_json)
    found = list(findings_of(folder))
    if settings.as_json:
        screen.json([{"where": one.where, "what": one.what, "fix": one.fix} for one in found])
        return Exit.FAILED if found else Exit.DONE
    for finding in found:
        screen.result(str(finding))
    looked_at = len(_manifests(folder)) + len(_definitions(folder))
    screen.say(f"{_count(looked_at, 'file')}, {_count(len(found), 'finding')}.", "bad" if found else "good")
    return Exit.FAILED if found else Exit.DONE


def findings_of(folder: Path) -> Iterator[Finding]:
    """Yield what the compiler refuses, then what would go wrong later, file by file."""
    yield from _refusals(folder)
    for path in _manifests(folder):
        try:
            manifest = read_manifest(path.read_text(encoding="utf-8"))
        except (CatalogError, OSError, UnicodeDecodeError):
            continue  # told above
        for finding in findings_in(manifest):
            yield Finding(f"{path}: {finding.where}", finding.what, finding.fix)
    for path in _definitions(folder):
        yield from _of_a_definition(path)


def _refusals(folder: Path) -> Iterator[Finding]:
    if not [*folder.glob("*.yml"), *_manifests(folder)]:
        return
    try:
        compile_directory(folder)
    except CatalogError as error:
        for line in str(error).split("\n"):
            where, _, what = line.partition(": ")
            if not where.endswith(".asl.yaml"):  # a definition is no manifest
                yield Finding(where, what)


def _of_a_definition(path: Path) -> Iterator[Finding]:
    try:
        text = path.read_text(encoding="utf-8")
        definition: Any = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except (OSError, ValueError, yaml.YAMLError) as error:
        yield Finding(str(path), f"it cannot be read: {' '.join(str(error).split())}")
        return
    for one in bad_questions(as_object(definition)):
        yield Finding(f"{path}: {one.where}", f"the question is refused: {one.fault}")


def _manifests(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.glob("*.yaml")) if not path.name.endswith(".asl.yaml")]


def _definitions(folder: Path) -> list[Path]:
    return sorted(path for pattern in _DEFINITIONS for path in folder.glob(pattern))


def _count(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"
