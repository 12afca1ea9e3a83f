"""`stepwire new`: a stack with a workflow as a tool, or an endpoint of one's own, with no SAM CLI and no clone.

The rule: what exists is not overwritten, and nothing is written before everything is known to be right.
"""

import ast
import copy
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final

import yaml

from stepwire.catalog.tools import OWN_TOOLS
from stepwire.json_text import as_object
from stepwire_cli.agreeing import answered
from stepwire_cli.deployment.archives import LARGEST, RELATIVE, contents_of
from stepwire_cli.deployment.plan import AUTHORIZER
from stepwire_cli.deployment.release import Release, Source
from stepwire_cli.deployment.stack import NAME, NAMES
from stepwire_cli.exits import CommandError, Exit
from stepwire_cli.screen import Screen
from stepwire_cli.settings import Settings, reason
from stepwire_wrap.files.positions import MappingNode, Text, member
from stepwire_wrap.files.texts import Unreadable, parsed, text_of
from stepwire_wrap.writing import write_new


@dataclass(frozen=True)
class _Shape:
    """What an answer must be."""

    kind: str
    pattern: re.Pattern[str]
    right: str
    """What to write instead."""
    fault: Callable[[str], str | None] = lambda _text: None
    """Says what is wrong with an answer of that form."""

    def unless(self, fault: Callable[[str], str | None]) -> "_Shape":
        """Return a shape of which an answer may have another fault, too."""

        def either(text: str) -> str | None:
            return self.fault(text) or fault(text)

        return replace(self, fault=either)

    def check(self, text: str) -> str:
        """Return an answer.

        Raises:
            CommandError: it is none.
        """
        if not self.pattern.fullmatch(text):
            raise CommandError(f"{text[:100]!r} is no {self.kind}: {self.right}.")
        if (wrong := self.fault(text)) is not None:
            raise CommandError(wrong)
        return text


def _tool_name(name: str) -> str:
    return name.lower().replace("-", "_")


def _own_name(name: str) -> str | None:
    tool_name = _tool_name(name)
    return f"{tool_name} is a tool of Stepwire's own: choose another name." if tool_name in OWN_TOOLS else None


def _length(words: str) -> str | None:
    size = len(words.encode())
    too_long = f"The description has {size:,} bytes, and a template takes {_LONGEST_DESCRIPTION:,}."
    return too_long if size > _LONGEST_DESCRIPTION else None


_LONGEST_DESCRIPTION: Final = 1_024  # bytes of the Description of a template
_PROJECT: Final = _Shape(
    "name",
    re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}"),
    "use up to 64 letters, digits, - and _, with a letter first",
    _own_name,
)
_STACK: Final = _Shape("name", NAME, f"use {NAMES}")
_DESCRIPTION: Final = _Shape(
    "description", re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+"), "write one line of text", _length
)
_AUTHORIZERS: Final = ("cognito", "jwt", "iam", "none")
_SIGN_IN: Final = _Shape(
    "way to sign in", re.compile("|".join(_AUTHORIZERS)), f"write one of {', '.join(_AUTHORIZERS)}"
)
_REPLACE: Final = r"replace\(('(?:[^'\\]|\\.)+'), ('(?:[^'\\]|\\.)+')\)"
_VALUE: Final = re.compile(rf"\{{\{{ cookiecutter\.(?P<name>\w+)(?P<filters>(?: \| {_REPLACE})*) \}}\}}")
"""What the templates, which `sam init` takes too, write for a value: of Jinja's filters, `replace` alone."""
_TABLE: Final = re.compile(r"\| tool \| its states \|(\r?\n)\|---\|---\|\r?\n")
"""The head of the tools in a README that this command has made."""
_FILLED: Final = (".md", ".toml", "template.yaml")
"""How the names of the files end in which values are filled; the others have braces of their own."""
_CODE: Final = {"CodeUri": "functions", "ContentUri": "layers"}
"""The property that names a zip file of a release, and the folder that its contents go to."""
_OF_A_RELEASE: Final = ("ArtifactBucket", "ArtifactPrefix")


@dataclass(frozen=True)
class Given:
    """The options of both commands, as they were written."""

    name: str | None
    output: Path | None
    says_yes: bool


def tool(settings: Settings, given: Given, description: str | None, endpoint: str | None) -> int:
    """Make a project with a workflow as a tool, or add one to the project in the folder.

    Raises:
        CommandError: an answer is wrong or missing, or something is there already.
    """
    screen = Screen(as_json=settings.as_json)
    project = _PROJECT.unless(lambda name: _taken(_folder(given, name), takes_tools=True))
    name = _answer(screen, given, "Name", given.name, "settle-invoices", project)
    tool_name = _tool_name(name)
    says = "Settles all open invoices of a customer."
    words = _choice(screen, given, "What the tool does", description, says, _DESCRIPTION)
    stack = _choice(screen, given, "Stack of the endpoint", endpoint, "stepwire", _STACK)
    values = {"project_name": name, "tool_name": tool_name, "description": words, "endpoint_stack": stack}
    files = _filled("workflow-tool", values)
    folder = _folder(given, name)
    is_there = (folder / "template.yaml").is_file()
    written = _add(folder, files, tool_name, stack) if is_there else _write(folder, files)
    return _end(screen, folder, written, "sam deploy")


def endpoint(settings: Settings, given: Given, authorizer: str | None, source: Source) -> int:
    """Make a project with an endpoint, of a release.

    Raises:
        CommandError: an answer is wrong or missing, something is there already, or there is no release.
    """
    screen = Screen(as_json=settings.as_json)
    found = source.opened()
    project = _STACK.unless(lambda name: _taken(_folder(given, name)))
    name = _answer(screen, given, "Name of the stack", given.name, "stepwire", project)
    offered = [one for one in _AUTHORIZERS if found.lacks(AUTHORIZER, one) is None]
    shape = _SIGN_IN.unless(lambda one: found.lacks(AUTHORIZER, one))
    sign_in = _choice(screen, given, f"Who may call ({', '.join(offered)})", authorizer, offered[0], shape)
    values = {"project_name": name, "stack_name": name, "authorizer": sign_in, "version": found.version}
    folder = _folder(given, name)
    written = _write(folder, {**_filled("released-endpoint", values), **_unpacked(found)})
    top = [one for one in written if "/" not in one]
    return _end(screen, folder, [*top, *(f"{one}/" for one in _CODE.values())], "sam deploy")


def _answer(screen: Screen, given: Given, question: str, said: str | None, default: str, shape: _Shape) -> str:
    """Return what must be known: from its option, from the person, or with --yes its default."""
    if said is None and not given.says_yes and not screen.is_interactive:
        raise CommandError("Nobody can be asked here: write --name NAME, or --yes for the defaults.")
    return _choice(screen, given, question, said, default, shape)


def _choice(screen: Screen, given: Given, question: str, said: str | None, default: str, shape: _Shape) -> str:
    """Return an option that was written, or the default; a person is asked until the answer is one."""
    if said is not None or given.says_yes or not screen.is_interactive:
        return shape.check(default if said is None else said)
    while True:
        try:
            return shape.check(answered(screen, f"{question} ({default}): ") or default)
        except CommandError as error:
            screen.say(str(error), "bad")


def _filled(template: str, values: Mapping[str, str]) -> dict[str, bytes]:
    """Return the files of a template with these values, by their paths in the project."""

    def value(found: re.Match[str]) -> str:
        text = values[found["name"]]
        for before, after in re.findall(_REPLACE, found["filters"]):  # Jinja's literals are Python's
            text = text.replace(ast.literal_eval(before), ast.literal_eval(after))
        return text

    def content(path: str, file: Traversable) -> bytes:
        text = file.read_text(encoding="utf-8")
        return (_VALUE.sub(value, text) if path.endswith(_FILLED) else text).encode()

    root = resources.files("stepwire_cli") / "templates" / template / "{{cookiecutter.project_name}}"
    return {path: content(path, file) for path, file in _files(root)}


def _files(folder: Traversable, before: str = "") -> Iterator[tuple[str, Traversable]]:
    for one in sorted(folder.iterdir(), key=lambda one: one.name):
        if one.is_dir() and one.name != "__pycache__":
            yield from _files(one, f"{before}{one.name}/")
        elif one.is_file():
            yield before + one.name, one


def _folder(given: Given, name: str) -> Path:
    return given.output or Path(name)


def _taken(folder: Path, *, takes_tools: bool = False) -> str | None:
    """Say that a folder is no place for a new project; a tool may be added to one that is there."""
    if takes_tools and (folder / "template.yaml").is_file():
        return None
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        return f"{folder} is there already, and is not overwritten: choose another name, or a folder with --output."
    return None


def _add(folder: Path, files: Mapping[str, bytes], tool_name: str, stack: str) -> list[str]:
    """Add a tool to the project of a folder, and to the table of its README if this command has made that."""
    template, readme, definition = folder / "template.yaml", folder / "README.md", f"{tool_name}.asl.yaml"
    changed = {template.name: _with_tool(template, files["template.yaml"].decode(), tool_name, definition, stack)}
    try:
        before = _raw(readme)
    except Unreadable:  # there is none, or not one that this command made
        before = ""
    if (table := _TABLE.search(before)) is not None:
        row = f"| `{tool_name}` | `{definition}` |{table[1]}"
        changed[readme.name] = f"{before[: table.end()]}{row}{before[table.end() :]}"
    new = {definition: files["workflow.asl.yaml"]}
    return _write(folder, new, {name: text.encode() for name, text in changed.items()})


def _write(folder: Path, files: Mapping[str, bytes], changed: Mapping[str, bytes] | None = None) -> list[str]:
    """Write files, and the new contents of others; return their names."""
    for name in files:
        if (folder / name).exists():
            raise CommandError(f"{folder / name} is there already, and is not overwritten: choose another --name.")
    new, old = ({folder / name: text for name, text in some.items()} for some in (files, changed or {}))
    try:
        write_new(new, old)
    except OSError as error:
        raise CommandError(f"{error.filename or folder} cannot be written: {reason(error)}.") from None
    return [*files, *(changed or ())]


def _raw(path: Path) -> str:
    """Return the text of a file with its line ends, and its byte order mark if it has one.

    Raises:
        Unreadable: there is none, or it is no text.
    """
    text_of(path)
    return path.read_bytes().decode()


def _with_tool(template: Path, made: str, tool_name: str, definition: str, stack: str) -> str:
    """Return the text of a project's template with one more tool; nothing else in it changes.

    Raises:
        CommandError: it cannot be read, is not in block style, or has resources of these names.
    """
    try:
        text = _raw(template)
    except Unreadable as error:
        raise CommandError(f"{template}: {error}: save it as UTF-8, or name another folder with --output.") from None
    before = _template_of(template, text)
    prefix = "".join(part.capitalize() for part in tool_name.split("_"))
    added = textwrap.dedent(made.partition("\nResources:\n")[2])
    added = added.replace("${Workflow}", f"${{{prefix}Workflow}}").replace("workflow.asl.yaml", definition)
    added = re.sub(r"^(Workflow|Tool):$", rf"{prefix}\1:", added, flags=re.MULTILINE)
    if "Endpoint" not in as_object(before.get("Parameters")):
        added = added.replace("!Ref Endpoint", stack).replace("${Endpoint}", stack)
    document = Text(text) if "Resources" in before else None
    resources = None if document is None else member(document.root, "Resources")
    if document is None or not isinstance(resources, MappingNode) or resources.flow_style:
        raise CommandError(f"{template} has no resources in block style, so nothing can be added to it.")
    after = document.changed([document.with_member(resources, f"\n{added}")])
    old, new = as_object(before["Resources"]), as_object(_template_of(template, after)["Resources"])
    is_registered = any(_name_of(one).endswith(f"/tools/{tool_name}") for one in old.values())
    is_more = new.keys() - old.keys() == {f"{prefix}Workflow", f"{prefix}Tool"} and new.items() >= old.items()
    if is_registered or not is_more:
        raise CommandError(f"{template} has resources of the tool {tool_name} already: choose another --name.")
    return after


def _name_of(resource: object) -> str:
    name = as_object(as_object(resource).get("Properties")).get("Name")
    return str(as_object(name).get("Fn::Sub", name))


def _template_of(path: Path, text: str) -> dict[str, Any]:
    try:
        return dict(as_object(parsed(text, is_json=False)))
    except Unreadable as error:
        raise CommandError(f"{path} is no template: {error}") from None


def _unpacked(release: Release) -> dict[str, bytes]:
    """Return the template and the code of a release, so that the template names folders beside it.

    Raises:
        CommandError: the template and the code do not fit.
    """
    template: dict[str, Any] = copy.deepcopy(dict(release.document))
    try:
        code = _with_folders(template, release.files)
        groups = template["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
        groups[:] = [one for one in groups if not set(one["Parameters"]) & set(_OF_A_RELEASE)]
        for name in _OF_A_RELEASE:
            del template["Parameters"][name]
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        why = f"{type(error).__name__} {error}"[:200]
        raise CommandError(f"The template of the release and its files do not fit ({why}): fetch it again.") from None
    text = yaml.safe_dump(template, sort_keys=False, allow_unicode=True, width=10_000)
    return {"template.yaml": text.encode(), **code}


def _with_folders(template: Mapping[str, Any], packed: Mapping[str, bytes]) -> dict[str, bytes]:
    """Have the resources of a template name folders, and return the files in these."""
    files, size = dict[str, bytes](), 0
    for name, body in template["Resources"].items():
        properties = body.get("Properties", {})
        for code in _CODE.keys() & properties.keys():
            folder = f"{_CODE[code]}/{name}"
            key = properties[code]["Key"]["Fn::Sub"].removeprefix("${ArtifactPrefix}")
            found = contents_of(packed[key], RELATIVE)
            if (size := size + sum(map(len, found.values()))) > LARGEST:
                raise ValueError(f"more than {LARGEST // 1_000_000} MB")
            files |= {f"{folder}/{one}": content for one, content in found.items()}
            properties[code] = f"{folder}/"
    return files


def _end(screen: Screen, folder: Path, written: list[str], then: str) -> int:
    if screen.as_json:
        screen.json({"folder": str(folder), "written": written})
        return Exit.DONE
    for name in written:
        screen.result(f"wrote      {folder / name}{'/' if name.endswith('/') else ''}")
    screen.say(f"Next: cd {folder} && {then}")
    return Exit.DONE
