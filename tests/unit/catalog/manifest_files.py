"""Write manifests into a folder, and compile them."""

from pathlib import Path
from textwrap import dedent

import pytest

from stepwire.catalog.tools import Tool, read_catalog
from stepwire.errors import CatalogError
from stepwire.manifests.reading import compile_directory
from tests.kits import state_machine_arn

STATE_MACHINES = {"Greet": state_machine_arn("Greet")}

SMALLEST = """\
    name: greet
    description: Greets.
    state_machine: Greet
    input_schema: {type: object}
"""


def put(folder: Path, text: str, name: str = "greet") -> Path:
    """Write a manifest."""
    path = folder / f"{name}.yaml"
    path.write_text(dedent(text), encoding="utf-8")
    return path


def with_line(line: str) -> str:
    """Return the smallest manifest with one more line, which replaces the line of the same key."""
    key = line.partition(":")[0]
    kept = [known for known in dedent(SMALLEST).splitlines() if not known.startswith(f"{key}:")]
    return "\n".join([*kept, dedent(line)])


def compiled(folder: Path, machine: str = "Greet") -> Tool:
    """Compile the folder and read its only tool as the function does; `machine` is the name of its state machine."""
    (tool,) = read_catalog(compile_directory(folder), {machine: state_machine_arn(machine)}).in_order
    return tool


def faults(folder: Path) -> list[str]:
    """Return the faults of a folder, line by line, without the path of the folder."""
    with pytest.raises(CatalogError) as error:
        compile_directory(folder)
    return [line.replace(f"{folder}/", "") for line in str(error.value).splitlines()]
