"""Reading manifests: YAML to a checked manifest, and a folder of them to a catalog. Never runs in a function's start.

    python -m stepwire.catalog.manifests FOLDER [--output catalog.json] [--names release_tools.json]

One manifest a tool, `FOLDER/<name>.yaml`. Whatever is wrong is said with the file and the field, all of it at once; a
text whose meaning would be lost or misunderstood as JSON is refused.
"""

import argparse
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Final, cast

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from stepwire.catalog.manifest import SHAPES, Manifest, fields, model_of
from stepwire.catalog.manifest_faults import fault_words, unforeseen, unknown_field
from stepwire.catalog.tools import CompiledTool, catalog_text, compiled_in
from stepwire.errors import CatalogError
from stepwire.json_text import Json, JsonTextError, parse, write

_TAG: Final = re.compile(r"constructor for the tag '(?P<tag>![^']*)'")


def compile_directory(folder: Path) -> str:
    """Check all manifests of a folder, which may have none, and give the text of its catalog.json.

    Raises:
        CatalogError: something is wrong; one line a fault, each with file and field.
    """
    faults = [f"{path}: a manifest must end in .yaml" for path in sorted(folder.glob("*.yml"))]
    found: dict[str, CompiledTool] = {}
    for path in sorted(folder.glob("*.yaml")):
        try:
            one = _compiled_file(path)
        except CatalogError as error:
            faults.append(str(error))
            continue
        first = found.setdefault(one.tool.name, one)
        if first is not one:
            faults.append(f"{path}: name: {one.tool.name!r} is also the name in {first.source}")
    if not folder.is_dir():
        faults.append(f"{folder}: there is no such folder")
    if faults:
        raise CatalogError("\n".join(faults))
    return catalog_text(found.values())


def names_in(compiled: str) -> str:
    """Return, as JSON text, the names of the tools in a catalog.json, each with its file."""
    return write({one.tool.name: one.source for one in compiled_in(compiled)})


def read_manifest(text: str) -> Manifest:
    """Read the YAML, or JSON, text of a manifest.

    Raises:
        CatalogError: something is wrong; one line a fault, each with its field. Also if the fault is one of Stepwire's.
    """
    with _faults_of_one():
        try:
            return Manifest.model_validate(read_yaml(text))
        except ValidationError as error:
            faults = (f"{'.'.join(_path_of(one)) or 'the file'}: {_words_of(one)}" for one in error.errors())
            # A field of several types has a fault for each.
            raise CatalogError("\n".join(dict.fromkeys(faults))) from None


@contextmanager
def _faults_of_one() -> Generator[None]:
    """Raise whatever one manifest raises as a CatalogError, so that no other manifest suffers from it."""
    try:
        yield
    except (CatalogError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as fault:  # a panic of a library in Rust is no Exception
        raise CatalogError(unforeseen(fault)) from fault


def _compiled_file(path: Path) -> CompiledTool:
    content = b""
    try:
        content = path.read_bytes()
        manifest = read_manifest(content.decode("utf-8"))
        with _faults_of_one():
            return CompiledTool(manifest.tool(), str(path))
    except UnicodeDecodeError as error:
        line, byte = content.count(b"\n", 0, error.start) + 1, content[error.start]
        raise CatalogError(f"{path}: line {line}: byte 0x{byte:02x} is not UTF-8: save the file as UTF-8") from None
    except OSError as error:
        raise CatalogError(f"{path}: cannot be read: {error.strerror}") from None
    except CatalogError as error:
        raise CatalogError("\n".join(f"{path}: {fault}" for fault in str(error).split("\n"))) from None


def _path_of(fault: ErrorDetails) -> list[str]:
    """Return the names and positions that lead to a field, without the type that a union was tried with."""
    path = list(map(str, fault["loc"]))
    return path[:2] if path[:2] == ["output", "structured"] else path


def _words_of(fault: ErrorDetails) -> str:
    *path, name = map(str, fault["loc"] or [""])
    if fault["type"] == "extra_forbidden":
        around = fields().get(".".join(part for part in path if not part.isdecimal()))
        known = ((around and model_of(around)) or Manifest).model_fields
        return unknown_field(name, [field.alias or known_name for known_name, field in known.items()])
    if fault["type"] == "value_error":
        return fault["msg"].removeprefix("Value error, ")
    limits = fault.get("ctx", {})
    if fault["type"] == "string_pattern_mismatch":
        return f"must be {SHAPES[limits['pattern']]}"
    return fault_words(fault["type"], [*path, name], fault["input"], limits)


class _Loader(yaml.SafeLoader):
    """Reads YAML, and refuses what would be lost: the first of a key given twice, the text of a date."""

    # Its own: where the SAM translator has run, PyYAML's SafeLoader has learnt the tags of CloudFormation from it.
    yaml_multi_constructors: ClassVar[dict[str | None, Any]] = {}

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Refuse aliases: a few lines of them stand for gigabytes."""
        if self.check_event(yaml.AliasEvent):
            raise yaml.constructor.ConstructorError(
                problem="aliases (*name) are not supported: write the value out",
                problem_mark=cast(Any, self).peek_event().start_mark,
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - PyYAML's signature
        """Build a mapping whose keys are all different."""
        known: list[Any] = []
        for key, _ in node.value:
            if key.value in known:
                raise yaml.constructor.ConstructorError(
                    problem=f"the key {key.value!r} is given twice", problem_mark=key.start_mark
                )
            known.append(key.value)
        return super().construct_mapping(node, deep)

    def refuse_date(self, node: yaml.ScalarNode) -> None:
        """JSON has no dates, and what was meant is a text."""
        raise yaml.constructor.ConstructorError(
            problem=f"{node.value} is read as a date: put it in quotes", problem_mark=node.start_mark
        )


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.refuse_date)


def read_yaml(text: str) -> Json:
    """Return the value of a YAML text.

    Raises:
        CatalogError: it is empty, no YAML, or holds what JSON has no form for.
    """
    document = _loaded(text)
    if document is None:
        raise CatalogError("the file is empty: write the tool's fields, `name: ...` first")
    try:
        return parse(write(document))
    except RecursionError:
        raise CatalogError("nested too deeply") from None
    except TypeError:  # a set, or binary data
        raise CatalogError("a value has a type that JSON does not have: write it as a text, in quotes") from None
    except JsonTextError as error:
        raise CatalogError(f"no JSON: {error}") from None
    except ValueError:
        raise CatalogError("a number is not finite (.nan, .inf): write it as a text, in quotes") from None


def _loaded(text: str) -> Any:
    if text.lstrip().startswith("{"):
        # YAML is a superset of JSON but for the halves of a character with which JSON escapes what is beyond U+FFFF.
        with suppress(JsonTextError):
            return parse(text)
    try:
        return yaml.load(text, _Loader)  # noqa: S506 - a subclass of SafeLoader
    except yaml.YAMLError as error:
        raise CatalogError(_yaml_fault(error)) from None
    except RecursionError:
        raise CatalogError("nested too deeply") from None
    except ArithmeticError:  # PyYAML reads 1:30:00 in base 60, and hundreds of parts are beyond what a float holds
        raise CatalogError("a number is too large: write it as a text, in quotes") from None
    except (LookupError, TypeError, ValueError):  # PyYAML's own, for a tag such as !!int or !!bool before what is none
        raise CatalogError("a value is not what its tag (!!...) says") from None


def _yaml_fault(error: yaml.YAMLError) -> str:
    mark, problem = getattr(error, "problem_mark", None), str(getattr(error, "problem", None) or "bad YAML")
    if (tag := _TAG.search(problem)) is not None:
        problem = (
            f"the tag {tag['tag']} means nothing here: write the name itself, or quote a text that begins with '!'"
        )
    elif "mapping values are not allowed" in problem:
        problem = f"{problem}: quote texts with a colon"
    return f"line {mark.line + 1 if mark else '?'}: {problem}"


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
