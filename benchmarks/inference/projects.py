"""Hold the drafts of projects that somebody else wrote, with their code, against the projects' own examples.

An example is a JSON object that a README gives as an input, or that a file named so has. Which state machine it is for
is written nowhere: an example that no draft of its project accepts is named, for a person to judge.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, cast

import jsonschema_rs

from stepwire.json_text import JsonObject, as_object
from stepwire_wrap.definitions.drafts import Draft, History, draft
from stepwire_wrap.definitions.names import tool_name
from stepwire_wrap.files.finding import contents_of
from stepwire_wrap.files.handlers import Reader
from stepwire_wrap.files.texts import Unreadable
from stepwire_wrap.wrapping import machine_of, title_of

_FENCED: Final = re.compile(r"```(?:json5?|js|javascript)?[ \t]*\n(?P<body>.*?)```", re.DOTALL | re.IGNORECASE)
_INPUT: Final = re.compile(r"input|payload|execut|test", re.IGNORECASE)
_OUTPUT: Final = re.compile(r"output|result|respon|return|look like|definition|polic|email", re.IGNORECASE)
_BEFORE: Final = 300  # characters before a block that say what it is
_FILE: Final = re.compile(r"input|payload|execute\w*event", re.IGNORECASE)
_NO_INPUT: Final = frozenset({"StartAt", "Statement", "Resources", "AWSTemplateFormatVersion", "executionArn", "title"})
_NO_FOLDER: Final = frozenset({"node_modules", "function", "functions", "lambda", "output"})


def measured(folder: Path) -> Iterator[str]:
    """Yield the figures of the projects in a folder, and the examples that no draft of their project accepts."""
    count = Counter[str]()
    for project in sorted(one for one in folder.iterdir() if one.is_dir() and not one.name.startswith(".")):
        drafts = _drafts(project)
        for one in drafts:
            count.update(_counted(as_object(one.manifest["input_schema"])))
        for path, example in _examples(project) if drafts else ():
            faults = [_fault(as_object(one.manifest["input_schema"]), example) for one in drafts]
            count["examples"] += 1
            if all(faults):
                count["examples that no draft of their project accepts"] += 1
                yield f"{path}: {faults[0]}"
    yield from (f"{number:6} {name}" for name, number in sorted(count.items()))


def _drafts(project: Path) -> list[Draft]:
    try:
        machines = contents_of([project]).machines
    except Unreadable:
        return []
    reader = Reader()
    titles = [(one, title_of(one)) for one in machines]
    return [draft(tool_name(title), machine_of(one, title, reader), History()) for one, title in titles]


def _counted(schema: JsonObject) -> Iterator[str]:
    yield "state machines"
    members = as_object(schema.get("properties"))
    if members:
        yield "state machines with properties"
    required = cast("list[str]", schema.get("required", []))
    for name, one in members.items():
        yield "members"
        if "type" in as_object(one) or "enum" in as_object(one):
            yield "members with a type"
        if name in required:
            yield "members that are required"


def _examples(project: Path) -> Iterator[tuple[Path, JsonObject]]:
    for path in sorted(project.rglob("*")):
        within = path.relative_to(project).parts[:-1]
        if _NO_FOLDER & set(within) or not path.is_file():
            continue
        texts: list[str] = []
        if path.suffix == ".json" and _FILE.search(path.stem):
            texts = [path.read_text(encoding="utf-8", errors="replace")]
        elif path.suffix.lower() == ".md":
            texts = _blocks(path.read_text(encoding="utf-8", errors="replace"))
        yield from ((path, made) for text in texts if (made := _example(text)))


def _blocks(text: str) -> list[str]:
    """Return the blocks of a README before which it speaks of an input last."""
    found: list[str] = []
    for block in _FENCED.finditer(text):
        before = text[max(0, block.start() - _BEFORE) : block.start()].rpartition("```")[2]
        said = max((one.end() for one in _INPUT.finditer(before)), default=-1)
        if said > max((one.end() for one in _OUTPUT.finditer(before)), default=-1):
            found.append(block["body"])
    return found


def _example(text: str) -> JsonObject:
    try:
        made = as_object(json.loads(text))
    except ValueError:
        return {}
    return {} if _NO_INPUT & set(made) else made


def _fault(schema: JsonObject, example: JsonObject) -> str:
    error = next(jsonschema_rs.iter_errors(schema, example), None)
    return "" if error is None else f"{'/'.join(map(str, error.instance_path))}: {error.message[:120]}"
