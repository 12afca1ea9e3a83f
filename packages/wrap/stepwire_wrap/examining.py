"""`doctor PATH`: each manifest, definition and template in a file or a folder, one line a finding.

The rule: a file is what its contents say. A template is none of our manifests, whatever its name; those that it
registers are judged with the state machines beside them.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from stepwire.errors import CatalogError
from stepwire.json_text import JsonObject, as_object
from stepwire.manifests.manifest import Manifest
from stepwire.manifests.model import checked_files
from stepwire.manifests.published import ToolFile
from stepwire.manifests.reading import compile_directory, read_manifest
from stepwire_wrap.definitions.drafts import History, Machine
from stepwire_wrap.definitions.findings import findings_of as findings_of_tool
from stepwire_wrap.definitions.findings import findings_of_questions, findings_of_words
from stepwire_wrap.definitions.hints import questions_of
from stepwire_wrap.definitions.questions import bad_questions
from stepwire_wrap.definitions.retrying import unretried
from stepwire_wrap.drafting import Screen, counted, show_findings
from stepwire_wrap.exits import WrapError
from stepwire_wrap.files.asking import lacks_of
from stepwire_wrap.files.finding import Contents, contents_of, is_definition
from stepwire_wrap.files.handlers import Reader
from stepwire_wrap.files.templates import FoundMachine, Parameter, Template, is_template
from stepwire_wrap.files.texts import LARGEST, Unreadable, text_of, value_of
from stepwire_wrap.files.walking import walked
from stepwire_wrap.findings import (
    FREE_PARAMETER,
    LARGEST_PARAMETER,
    Finding,
    Severity,
    findings_in,
    findings_of_parameter,
)
from stepwire_wrap.wrapping import machine_of, start_fault, title_of

_DEFINITIONS: Final = ("*.asl.json", "*.asl.yaml", "*.asl.yml")
_MANIFEST: Final = frozenset({"input_schema", "state_machine", "race"})
_MANIFEST_LINE: Final = re.compile(rb"^(input_schema|state_machine|race):", re.MULTILINE)
_REFERENCE: Final = re.compile(r"""\$\{([\w:]+)(?:\.\w+)*\}(?::[\w.-]+(?=["'\s,}]|$))?""")
"""A reference, and the alias behind it if there is one."""
_OF_AWS: Final = {"AWS::Partition": "aws", "AWS::Region": "us-east-1", "AWS::AccountId": "0" * 12}
"""What stands for the names of AWS in an ARN."""
_RESOLVED: Final = re.compile(r"\{\{resolve:[^{}]*\}\}")
_FREE_TIERS: Final = ("", "Standard")


@dataclass
class _Looked:
    """What there is to look at."""

    manifests: list[Path] = field(default_factory=list[Path])
    folders: list[Path] = field(default_factory=list[Path])
    """Where the manifests are, if these are folders of manifests."""
    contents: Contents = field(default_factory=Contents)
    more: list[Path] = field(default_factory=list[Path])
    """Definitions that their names alone tell."""

    @property
    def files(self) -> int:
        """How many files there are."""
        found = {*self.manifests, *self.more, *(one.path for one in self.contents.machines)}
        templates = {path for one in self.contents.templates for path in one.files()}
        return len(found | templates | {Path(one.where.partition(": ")[0]) for one in self.contents.faults})


def doctor(path: Path, screen: Screen) -> int:
    """Print the findings.

    Raises:
        WrapError: there is no such file or folder, or nothing in it.
    """
    looked = _looked_at(path)
    if not looked.files and not (path.is_dir() and [*path.glob("*.yml")]):
        raise WrapError(
            f"{path} has no manifest (*.yaml), no definition (*.asl.json, *.asl.yaml, or any with StartAt) and no "
            f"template with a state machine."
        )
    return show_findings(list(_findings(looked)), counted(looked.files, "file"), screen)


def findings_of(path: Path) -> Iterator[Finding]:
    """Yield what the compiler refuses, then what would go wrong later, file by file."""
    yield from _findings(_looked_at(path))


def _looked_at(path: Path) -> _Looked:
    try:
        contents = contents_of([path])
    except Unreadable:
        raise WrapError(f"{path} does not exist: write the path of a file or a folder.") from None
    if not path.is_dir():
        return _file(path, contents)
    known = {*(one.path for one in contents.machines), *(one for found in contents.templates for one in found.files())}
    known |= {Path(one.where) for one in contents.faults}
    # In a folder without a template, whatever is nothing else is meant as a manifest.
    own = None if contents.templates else path
    manifests = [
        one
        for one in walked(path)
        if one.suffix == ".yaml" and one not in known and not one.name.endswith(".asl.yaml")
        and (not _is_other(one) if one.parent == own else _is_manifest(one))
    ]  # fmt: skip
    more = [one for pattern in _DEFINITIONS for one in sorted(path.glob(pattern)) if one not in known]
    folders = list(dict.fromkeys([path, *(one.parent for one in manifests)]))
    return _Looked(manifests, folders, contents, more)


def _file(path: Path, contents: Contents) -> _Looked:
    if contents.machines or contents.templates or path.name.endswith(tuple(one[1:] for one in _DEFINITIONS)):
        return _Looked(contents=contents, more=[] if contents.machines or contents.faults else [path])
    return _Looked([path])


def _value(path: Path) -> JsonObject:
    try:
        return as_object(value_of(path))
    except Unreadable:
        return {}


def _is_manifest(path: Path) -> bool:
    """Tell whether a file is a manifest, perhaps a broken one."""
    try:
        return not _MANIFEST.isdisjoint(as_object(value_of(path)))
    except Unreadable:
        with suppress(OSError), path.open("rb") as file:
            return _MANIFEST_LINE.search(file.read(LARGEST)) is not None
        return False


def _is_other(path: Path) -> bool:
    value = _value(path)
    return is_template(value) or is_definition(value)


def _findings(looked: _Looked) -> Iterator[Finding]:
    reader = Reader()
    machines = [(one, machine_of(one, title_of(one), reader)) for one in looked.contents.machines]
    named = {name: machine for one, machine in machines for name in (one.logical_id, one.default_name) if name}
    yield from (Finding(one.where, one.what) for one in looked.contents.faults)
    yield from _refusals(looked)
    for path in looked.manifests:
        manifest = _read(path)
        if manifest is not None:
            yield from _held(str(path), manifest, named)
            yield from _would_be_refused(path)
    for template in looked.contents.templates:
        for one in template.registered():
            yield from _registered(template, one, named)
        yield from _files_beside(template)
        yield from _twice(template)
    for one, _ in machines:
        yield from _of_a_machine(one)
    for path in looked.more:
        yield from _questions(str(path), _value(path), as_json=path.suffix == ".json")


def _refusals(looked: _Looked) -> Iterator[Finding]:
    """Yield what the compiler refuses of folders, where two manifests may have one name, or of single files."""
    own = {str(one) for one in looked.manifests}
    beside = tuple(f"{one.removesuffix('.yaml')}/" for one in own)
    for folder in looked.folders:
        try:
            compile_directory(folder)
        except CatalogError as error:
            for line in str(error).split("\n"):
                where, _, what = line.partition(": ")
                if (
                    where in own
                    or where.startswith(beside)
                    or (where.endswith(".yml") and not looked.contents.templates)
                ):
                    yield Finding(where, what)
    for path in looked.manifests if not looked.folders else []:
        try:
            read_manifest(text_of(path))
        except (CatalogError, Unreadable) as error:
            yield from (Finding(str(path), line) for line in str(error).split("\n"))


def _read(path: Path) -> Manifest | None:
    try:
        return read_manifest(text_of(path))
    except (CatalogError, Unreadable):
        return None  # told above


def _would_be_refused(path: Path) -> Iterator[Finding]:
    """Yield why a manifest in a file cannot be registered, which it need not be."""
    for one in findings_of_parameter(text_of(path)):
        yield replace(
            one, where=str(path), what=f"if it is registered as a parameter: {one.what}", severity=Severity.ADVICE
        )


def _registered(template: Template, found: Parameter, machines: Mapping[str, Machine]) -> Iterator[Finding]:
    """Yield what is wrong with a parameter in a template; files beside manifests are checked together."""
    where = f"{template.path}: {found.logical_id}"
    largest = FREE_PARAMETER if found.tier in _FREE_TIERS else LARGEST_PARAMETER
    text = _RESOLVED.sub("", found.text)  # CloudFormation puts their values there
    yield from (replace(one, where=where) for one in findings_of_parameter(text, largest))
    for one in found.unknown:
        what = f"it refers to {one}, which the template does not have, so the deployment fails"
        yield Finding(where, what, "write the logical id of a resource, or the name of a parameter, of this template")
    if "/" in found.path:
        return
    try:
        manifest = read_manifest(_REFERENCE.sub(_stand_in, found.text))
    except CatalogError as error:
        # Its lines are counted from the first one of the value, not of the template.
        yield from (Finding(f"{where}.Value", line) for line in str(error).split("\n"))
        return
    if manifest.name != found.path and "${" not in found.path:
        what = f"{manifest.name!r} is not the last part of the parameter's name, so the manifest is refused."
        yield Finding(f"{where}: name", what, f"write name: {found.path}.")
    yield from _held(where, manifest, machines)


def _stand_in(reference: re.Match[str]) -> str:
    return _OF_AWS.get(reference[1], reference[1].replace("::", "-"))


def _twice(template: Template) -> Iterator[Finding]:
    """Yield the parameters that have the name of another one; conditions may create only one of several."""
    first = dict[str, str]()
    for one in template.registered():
        there = one.logical_id if one.is_conditional else first.setdefault(one.name, one.logical_id)
        if there != one.logical_id:
            what = f"{there} has the same name, {one.name}, so the deployment fails"
            yield Finding(f"{template.path}: {one.logical_id}", what, "remove one of them, or name it otherwise")


def _held(where: str, manifest: Manifest, machines: Mapping[str, Machine]) -> Iterator[Finding]:
    """Yield what is wrong with a manifest, held against those of its state machines that are there too."""
    names = dict.fromkeys(one.name for one in manifest.machines)
    there = {name: machines[name] for name in names if name in machines}
    if not there:
        yield from (Finding(f"{where}: {one.where}", one.what, one.fix) for one in findings_in(manifest))
        return
    found = [each for name, one in there.items() for each in findings_of_tool(where, manifest, name, one, History())]
    if len(there) == len(names):
        found += findings_of_questions(where, manifest, [one.definition for one in there.values()])
    for one in (*found, *findings_of_words(where, manifest)):
        if not one.lines:  # of the state machine itself, which is judged with them
            yield one


def _files_beside(template: Template) -> Iterator[Finding]:
    """Yield what is wrong with files beside manifests in a template, whose tools may be registered elsewhere."""
    parts = ((f"{template.path}: {one.logical_id}", one.path.partition("/"), one.text) for one in template.registered())
    files = [ToolFile(tool, rest, where, text) for where, (tool, slash, rest), text in parts if slash]
    refusals = (
        refusal for one in checked_files(files, {file.tool for file in files}).values() for refusal in one.refusals
    )
    yield from (Finding(one.source, line) for one in refusals for line in one.reason.split("\n"))


def _of_a_machine(found: FoundMachine) -> Iterator[Finding]:
    if (fault := start_fault(found.definition)) is not None:
        yield Finding(str(found.path), fault)
    where = f"{found.path}: {found.logical_id}" if found.logical_id else str(found.path)
    yield from _questions(where, found.definition, as_json=found.is_json)
    for place, what, fix in lacks_of(found):
        yield Finding(f"{where}: {place.where}", f"its question is not asked: {what}", fix)


def _questions(where: str, definition: JsonObject, *, as_json: bool) -> Iterator[Finding]:
    for one in bad_questions(definition):
        yield Finding(f"{where}: {one.where}", f"the question is refused: {one.fault}")
    for place, what, fix in unretried(definition):
        yield Finding(f"{where}: {place.where}", f"its question may be lost: the state {what}", fix)
    for hint in questions_of(definition, as_json=as_json):
        if hint.lines:
            yield Finding(where, hint.what, f"{hint.fix}, with these lines", Severity.ADVICE, hint.lines)
