"""`stepwire new`: a stack with a workflow as a tool, or an endpoint of one's own, with no SAM CLI and no clone.

The rule: what exists is not overwritten, and nothing is written before everything is known to be right.
"""

import io
import json
import re
import textwrap
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final

import yaml

from stepwire.json_text import as_object
from stepwire_cli.agreeing import answered
from stepwire_cli.deployment.release import Release, opened
from stepwire_cli.exits import CommandError, Exit
from stepwire_cli.files.texts import Unreadable, parsed, text_of
from stepwire_cli.screen import Screen
from stepwire_cli.settings import Settings
from stepwire_cli.wrap.yaml_text import without_references

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_STACK: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,127}")
_AUTHORIZERS: Final = ("cognito", "jwt", "iam", "none")
_VALUE: Final = re.compile(r"\{\{ cookiecutter\.(\w+)(?: \| (tojson|replace\('_', '-'\)))? \}\}")
"""What the templates, which `sam init` takes too, write for a value."""
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
    name = _answer(screen, given, "Name", given.name, "settle-invoices", _NAME)
    words = _choice(screen, given, "What the tool does", description, "Settles all open invoices of a customer.")
    stack = _choice(screen, given, "Stack of the endpoint", endpoint, "stepwire", _STACK)
    tool_name = name.lower().replace("-", "_")
    values = {"project_name": name, "tool_name": tool_name, "description": words, "endpoint_stack": stack}
    files = _filled("workflow-tool", values)
    folder = given.output or Path(name)
    template = folder / "template.yaml"
    if template.is_file():
        definition = f"{tool_name}.asl.yaml"
        text = _with_tool(template, files["template.yaml"].decode(), tool_name, definition, stack)
        _write(folder, {definition: files["workflow.asl.yaml"]})
        template.write_text(text, encoding="utf-8")
        written = [definition, "template.yaml", *_listed(folder / "README.md", tool_name, definition)]
    else:
        written = _write_new(folder, files)
    return _end(screen, folder, written, "sam deploy")


def endpoint(settings: Settings, given: Given, authorizer: str | None, release: Path | None) -> int:
    """Make a project with an endpoint, of a release.

    Raises:
        CommandError: an answer is wrong or missing, something is there already, or there is no release.
    """
    screen = Screen(as_json=settings.as_json)
    found = opened(release)
    name = _answer(screen, given, "Name of the stack", given.name, "stepwire", _STACK)
    sign_in = _choice(screen, given, f"Who may call ({', '.join(_AUTHORIZERS)})", authorizer, _AUTHORIZERS[0])
    if sign_in not in _AUTHORIZERS:
        raise CommandError(f"{sign_in!r} is no way to sign in: write one of {', '.join(_AUTHORIZERS)}.")
    values = {"project_name": name, "stack_name": name, "authorizer": sign_in, "version": found.version}
    folder = given.output or Path(name)
    written = _write_new(folder, {**_filled("released-endpoint", values), **_unpacked(found)})
    top = [one for one in written if "/" not in one]
    return _end(screen, folder, [*top, *(f"{one}/" for one in _CODE.values())], "sam deploy")


def _answer(
    screen: Screen, given: Given, question: str, said: str | None, default: str, pattern: re.Pattern[str]
) -> str:
    """Return what must be known: from its option, from the person, or with --yes its default."""
    if said is None and not given.says_yes and not screen.is_interactive:
        raise CommandError("Nobody can be asked here: write --name NAME, or --yes for the defaults.")
    return _choice(screen, given, question, said, default, pattern)


def _choice(
    screen: Screen,
    given: Given,
    question: str,
    said: str | None,
    default: str,
    pattern: re.Pattern[str] | None = None,
) -> str:
    if said is None:
        asks = screen.is_interactive and not given.says_yes
        said = (answered(screen, f"{question} ({default}): ") if asks else "") or default
    if pattern is not None and not pattern.fullmatch(said):
        raise CommandError(f"{said[:100]!r} is no name: use letters, digits and -, with a letter first.")
    return said


def _filled(template: str, values: Mapping[str, str]) -> dict[str, bytes]:
    """Return the files of a template with these values, by their paths in the project."""

    def value(found: re.Match[str]) -> str:
        text = values[found[1]]
        quoted = without_references(json.dumps(text)).replace("${", "\\u0024{")  # which Fn::Sub would replace
        return {None: text, "tojson": quoted}.get(found[2], text.replace("_", "-"))

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


def _write_new(folder: Path, files: Mapping[str, bytes]) -> list[str]:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CommandError(f"{folder} is there already, and is not overwritten: name another folder with --output.")
    return _write(folder, files)


def _write(folder: Path, files: Mapping[str, bytes]) -> list[str]:
    """Write files; return their names."""
    for name in files:
        if (folder / name).exists():
            raise CommandError(f"{folder / name} is there already, and is not overwritten: choose another --name.")
    try:
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    except OSError as error:
        raise CommandError(f"{folder} cannot be written: {(error.strerror or type(error).__name__).lower()}.") from None
    return list(files)


def _with_tool(template: Path, made: str, tool_name: str, definition: str, stack: str) -> str:
    """Return the text of a project's template with one more tool; nothing else in it changes.

    Raises:
        CommandError: it cannot be read, is not in block style, or has resources of these names.
    """
    try:
        text = text_of(template)
    except Unreadable as error:
        raise CommandError(f"{template}: {error}: save it as UTF-8, or name another folder with --output.") from None
    before = _template_of(template, text)
    prefix = "".join(part.capitalize() for part in tool_name.split("_"))
    added = textwrap.dedent(made.partition("\nResources:\n")[2])
    added = added.replace("${Workflow}", f"${{{prefix}Workflow}}").replace("workflow.asl.yaml", definition)
    added = re.sub(r"^(Workflow|Tool):$", rf"{prefix}\1:", added, flags=re.MULTILINE)
    if "Endpoint" not in as_object(before.get("Parameters")):
        added = added.replace("!Ref Endpoint", stack).replace("${Endpoint}", stack)
    heading = re.search(r"^Resources:[ \t]*(?:#.*)?\n((?:[ \t]*(?:#.*)?\n)*)([ ]+)\S", text, re.MULTILINE)
    if heading is None:
        raise CommandError(f"{template} has no resources in block style, so nothing can be added to it.")
    at = heading.end(1)
    after = f"{text[:at]}{textwrap.indent(added, heading[2])}\n{text[at:]}"
    old, new = as_object(before["Resources"]), as_object(_template_of(template, after)["Resources"])
    if set(new) - set(old) != {f"{prefix}Workflow", f"{prefix}Tool"} or {one: new[one] for one in old} != old:
        raise CommandError(f"{template} has resources of the tool {tool_name} already: choose another --name.")
    return after


def _listed(readme: Path, tool_name: str, definition: str) -> list[str]:
    """Add a tool to the table of a README that this command made; return the names of what was written."""
    try:
        text = text_of(readme)
    except Unreadable:  # there is none, or not one that this command made
        return []
    before, head, after = text.partition("| tool | its states |\n|---|---|\n")
    if not head:
        return []
    readme.write_text(f"{before}{head}| `{tool_name}` | `{definition}` |\n{after}", encoding="utf-8")
    return [readme.name]


def _template_of(path: Path, text: str) -> dict[str, Any]:
    try:
        return dict(as_object(parsed(text, is_json=False)))
    except Unreadable as error:
        raise CommandError(f"{path} is no template: {error}") from None


def _unpacked(release: Release) -> dict[str, bytes]:
    """Return the template and the code of a release, so that the template names folders beside it."""
    template: dict[str, Any] = yaml.safe_load(release.template)
    files = dict[str, bytes]()
    for name, body in template["Resources"].items():
        properties = body.get("Properties", {})
        for code in _CODE.keys() & properties.keys():
            folder = f"{_CODE[code]}/{name}"
            key = properties[code]["Key"]["Fn::Sub"].removeprefix("${ArtifactPrefix}")
            with zipfile.ZipFile(io.BytesIO(release.files[key])) as packed:
                files |= {f"{folder}/{one}": packed.read(one) for one in packed.namelist()}
            properties[code] = f"{folder}/"
    for name in _OF_A_RELEASE:
        del template["Parameters"][name]
    groups = template["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    groups[:] = [one for one in groups if not set(one["Parameters"]) & set(_OF_A_RELEASE)]
    text = yaml.safe_dump(template, sort_keys=False, allow_unicode=True, width=10_000)
    return {"template.yaml": text.encode(), **files}


def _end(screen: Screen, folder: Path, written: list[str], then: str) -> int:
    if screen.as_json:
        screen.json({"folder": str(folder), "written": written})
        return Exit.DONE
    for name in written:
        screen.result(f"wrote      {folder / name}{'/' if name.endswith('/') else ''}")
    screen.say(f"Next: cd {folder} && {then}")
    return Exit.DONE
