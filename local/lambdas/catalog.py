"""Compiles the catalog of a function that has tools, and writes it beside the handler, as `sam build` does."""

import os
from pathlib import Path

from local.errors import FunctionLoadError
from stepwire.catalog.manifests import compile_directory
from stepwire.errors import CatalogError

CATALOG = "catalog.json"


def compile_catalog(function: str, folder: Path) -> None:
    """Compile the manifests in the function's tools/ folder, if it has one.

    Raises:
        FunctionLoadError: a manifest is wrong; the message names file and field.
    """
    tools = folder / "tools"
    if not tools.is_dir():
        return
    try:
        text = compile_directory(tools)
    except CatalogError as error:
        raise FunctionLoadError(f"{function}: {error}") from error
    # Replace the file atomically: another process may be starting the same stack and reading it.
    made = folder / f".{CATALOG}.{os.getpid()}"
    made.write_text(text, encoding="utf-8")
    made.replace(folder / CATALOG)
