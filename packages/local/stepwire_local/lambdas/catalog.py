"""Compiles the catalog of a function that has tools, or lists its tools for another, as `sam build` does."""

import os
import re
from pathlib import Path

from stepwire.errors import CatalogError
from stepwire.manifests.reading import compile_directory, names_in
from stepwire_local.errors import FunctionLoadError

CATALOG = "catalog.json"
RELEASE_TOOLS = "release_tools.json"
_OURS = b"stepwire"  # whoever does not name it means something else by tools/
_LISTED = re.compile(r"stepwire\.manifests\.reading (\S+) --names")


def compile_catalog(function: str, folder: Path) -> None:
    """Compile the manifests in the tools/ folder of a function of Stepwire, if it has one.

    Raises:
        FunctionLoadError: a manifest is wrong; the message names file and field.
    """
    tools = folder / "tools"
    if tools.is_dir() and any(_OURS in file.read_bytes() for file in folder.glob("*.py")):
        _replace(folder / CATALOG, _compiled(function, tools))


def list_release_tools(function: str, folder: Path) -> None:
    """Write the names of the release's tools, if the function's Makefile says so, with the folder that it names.

    Raises:
        FunctionLoadError: a manifest is wrong; the message names file and field.
    """
    recipe = folder / "Makefile"
    listed = _LISTED.search(recipe.read_text(encoding="utf-8")) if recipe.is_file() else None
    if listed is not None:
        compiled = _compiled(function, folder.parents[1] / listed[1])
        _replace(folder / RELEASE_TOOLS, names_in(compiled))


def _compiled(function: str, tools: Path) -> str:
    try:
        return compile_directory(tools)
    except CatalogError as error:
        raise FunctionLoadError(f"{function}: {error}") from error


def _replace(path: Path, text: str) -> None:
    # Atomically: another process may be starting the same stack and reading the file.
    made = path.with_name(f".{path.name}.{os.getpid()}")
    made.write_text(text, encoding="utf-8")
    made.replace(path)
