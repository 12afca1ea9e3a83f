"""The compiled catalog of a function that has tools: `sam build` writes it beside the handler, and so does this."""

import os
from pathlib import Path

from local.errors import FunctionLoadError
from stepwire.errors import CatalogError
from stepwire.manifests import compile_directory

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
    # In one step: another process may be starting the same stack and reading it.
    made = folder / f".{CATALOG}.{os.getpid()}"
    made.write_text(text, encoding="utf-8")
    made.replace(folder / CATALOG)
