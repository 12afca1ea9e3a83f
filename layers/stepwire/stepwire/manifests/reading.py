"""Reading manifests: YAML to a checked manifest, and a folder of them to a catalog. Never runs in a function's start.

    python -m stepwire.manifests.reading FOLDER [--output catalog.json] [--names release_tools.json]

One manifest a tool, `FOLDER/<name>.yaml`; the files beside it, which an extra takes, are `FOLDER/<name>/<folder>/...`.
Whatever is wrong is said with the file and the field, all of it at once.
"""

import argparse
import sys
from collections import ChainMap
from collections.abc import Collection, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from stepwire.catalog.tools import CompiledTool, catalog_text, compiled_in
from stepwire.errors import CatalogError
from stepwire.json_text import write
from stepwire.manifests.faults import fault_words, unforeseen, unknown_field
from stepwire.manifests.manifest import Manifest
from stepwire.manifests.model import ALL, checked_files, extra_of, fields, main_file, manifest_model, model_of, shapes
from stepwire.manifests.published import ToolFile
from stepwire.manifests.yaml_text import read_yaml


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
    checked = checked_files([*_files_beside(folder, found)], found)
    refusals = [refusal for one in checked.values() for refusal in one.refusals]
    if refusals:
        raise CatalogError("\n".join(f"{one.source}: {fault}" for one in refusals for fault in one.reason.split("\n")))
    return catalog_text(found.values(), {name: one.parts or () for name, one in checked.items()})


def _files_beside(folder: Path, tools: Iterable[str]) -> Iterator[ToolFile]:
    """Yield the files in the folders of tools, without those whose names begin with a dot, and all other main files."""
    of_tools = (path for tool in tools if tool.strip(".") for path in (folder / tool).rglob("*"))
    main = main_file()
    for path in sorted({*of_tools, *(folder.glob(f"*/*/{main}") if main else ())}):
        tool, *rest = path.relative_to(folder).parts
        if path.is_file() and not any(name.startswith(".") for name in rest):
            yield ToolFile(tool, "/".join(rest), str(path), _text_of(path))


def names_in(compiled: str) -> str:
    """Return, as JSON text, the names of the tools in a catalog.json, each with its file."""
    return write({one.tool.name: one.source for one in compiled_in(compiled)})


def read_manifest(text: str, extras: Collection[str] = ALL) -> Manifest:
    """Read the YAML, or JSON, text of a manifest, whose fields are those of the core and of these extras.

    Raises:
        CatalogError: something is wrong; one line a fault, each with its field. Also if the fault is one of Stepwire's.
    """
    with _faults_of_one():
        model = manifest_model(extras)
        try:
            return model.model_validate(read_yaml(text))
        except ValidationError as error:
            faults = (f"{'.'.join(_path_of(one)) or 'the file'}: {_words_of(one, model)}" for one in error.errors())
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
    text = _text_of(path)
    try:
        manifest = read_manifest(text)
        with _faults_of_one():
            return CompiledTool(manifest.tool(), str(path))
    except CatalogError as error:
        raise CatalogError("\n".join(f"{path}: {fault}" for fault in str(error).split("\n"))) from None


def _text_of(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, byte = error.object.count(b"\n", 0, error.start) + 1, error.object[error.start]
        raise CatalogError(f"{path}: line {line}: byte 0x{byte:02x} is not UTF-8: save the file as UTF-8") from None
    except OSError as error:
        raise CatalogError(f"{path}: cannot be read: {error.strerror}") from None


def _path_of(fault: ErrorDetails) -> list[str]:
    """Return the names and positions that lead to a field, without the type that a union was tried with."""
    path = list(map(str, fault["loc"]))
    return path[:2] if path[:2] == ["output", "structured"] else path


def _words_of(fault: ErrorDetails, model: type[Manifest]) -> str:
    *path, name = map(str, fault["loc"] or [""])
    if fault["type"] == "extra_forbidden":
        if not path and (extra := extra_of(name)) is not None:
            return f"is a field of the extra {extra}, which this endpoint does not have: leave it out"
        around = fields(model).get(".".join(part for part in path if not part.isdecimal()))
        known = ((around and model_of(around)) or model).model_fields
        other_names = ChainMap(*(dict(part.other_names) for part in model.added.values()))
        return unknown_field(name, [field.alias or known_name for known_name, field in known.items()], other_names)
    if fault["type"] == "value_error":
        return fault["msg"].removeprefix("Value error, ")
    limits = fault.get("ctx", {})
    if fault["type"] == "string_pattern_mismatch":
        return f"must be {shapes(model)[limits['pattern']]}"
    return fault_words(fault["type"], [*path, name], fault["input"], limits)


def main(arguments: list[str] | None = None) -> int:
    """Check the manifests of a folder, and write their compiled form where asked to."""
    parser = argparse.ArgumentParser(
        prog="python -m stepwire.manifests.reading", description=(__doc__ or "").partition("\n")[0]
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
