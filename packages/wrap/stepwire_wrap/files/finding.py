"""What is in files and folders: state machines, manifests, templates.

The rule: a file is what its contents say, not its name. A folder's templates come first; a definition that one of them
has is not read again by itself.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from stepwire.json_text import Json, JsonObject, as_object
from stepwire_wrap.files.serverless_framework import Deployed, deployed, is_serverless
from stepwire_wrap.files.templates import Fault, FoundMachine, Template, is_template, project_around, template_of
from stepwire_wrap.files.texts import LARGEST, Unreadable, value_of
from stepwire_wrap.files.walking import walked

_SUFFIXES: Final = (".json", ".yaml", ".yml", ".asl", ".template")
_MARKS: Final = (
    *("StartAt", "AWS::StepFunctions::", "AWS::Serverless::StateMachine", "AWS::Serverless::Application"),
    "stepFunctions:",
)


@dataclass
class Contents:
    """What was found."""

    machines: list[FoundMachine] = field(default_factory=list[FoundMachine])
    templates: list[Template] = field(default_factory=list[Template])
    faults: list[Fault] = field(default_factory=list[Fault])
    """What cannot be read."""
    read: set[Path] = field(default_factory=set[Path])


def contents_of(paths: Iterable[Path]) -> Contents:
    """Return the state machines and templates of files and folders.

    Raises:
        Unreadable: one of the paths does not exist.
        OSError: one is a folder that may not be read; such a folder inside another is passed over.
    """
    found = Contents()
    for path in paths:
        if path.is_dir():
            next(path.iterdir(), None)
            _add(found, path, walked(path), is_named=False)
        elif path.is_file():
            _add(found, project_around(path), [path], is_named=True)
        else:
            raise Unreadable(f"{path} does not exist")
    return found


def _add(found: Contents, folder: Path, files: Iterable[Path], *, is_named: bool) -> None:
    values: dict[Path, JsonObject] = {}
    for path in files:
        try:
            value = value_of(path) if is_named or _may_be(path) else None
        except Unreadable as error:
            found.faults.append(Fault(str(path), str(error)))
            continue
        if isinstance(value, dict):
            values[path] = as_object(value)
        elif is_named:
            found.faults.append(Fault(str(path), _NEITHER))
    _add_templates(found, values)
    _add_definitions(found, folder, values, is_named=is_named)


def _add_templates(found: Contents, values: dict[Path, JsonObject]) -> None:
    bodies = {path: deployed(one, path) if is_serverless(one) else Deployed(one) for path, one in values.items()}
    templates = [
        template_of(path, one.template, included=one.files) for path, one in bodies.items() if is_template(one.template)
    ]
    nested = {one.resolve() for template in templates for one in list(template.files())[1:]}
    for template in templates:
        if template.path.resolve() in nested | found.read:
            continue
        found.templates.append(template)
        found.read |= {one.resolve() for one in template.files()}
        for one in template.machines():
            if isinstance(one, Fault):
                found.faults.append(one)
            else:
                found.machines.append(one)
                found.read.add(one.path.resolve())


_NEITHER: Final = "it is neither a definition (StartAt, States) nor a template (Resources)"


def _add_definitions(found: Contents, folder: Path, values: dict[Path, JsonObject], *, is_named: bool) -> None:
    for path, value in values.items():
        if path.resolve() in found.read or is_template(value):
            continue
        inner = value if is_definition(value) else as_object(value.get("Definition", value.get("definition")))
        if is_definition(inner):
            found.machines.append(FoundMachine(path, inner, tuple(titles(path, folder)), folder=folder))
            found.read.add(path.resolve())
        elif is_named:
            found.faults.append(Fault(str(path), _NEITHER))


def is_definition(value: Json) -> bool:
    """Tell whether a file's value is a definition of a state machine."""
    return "StartAt" in as_object(value) and isinstance(as_object(value).get("States"), dict)


def titles(path: Path, folder: Path) -> Iterator[str]:
    """Yield what the state machine of a file may be called, the best first: the file, then the folders around it."""
    yield path.name.partition(".")[0]
    for one in path.resolve().parents:
        yield one.name
        if one == folder.resolve():
            return


def _may_be(path: Path) -> bool:
    """Tell whether a file of a folder may have a state machine, without parsing it."""
    if path.suffix not in _SUFFIXES:
        return False
    try:
        if path.stat().st_size > LARGEST:
            return False
        text = path.read_text(encoding="utf-8", errors="replace")
    except PermissionError:
        return True  # so that whoever looks for it is told
    except OSError:
        return False
    return any(mark in text for mark in _MARKS)
