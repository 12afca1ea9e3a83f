"""Compiling manifests on the command line, and reading the compiled catalog."""

from pathlib import Path
from typing import Any

import pytest

from stepwire.catalog.tools import read_catalog
from stepwire.errors import CatalogError
from stepwire.manifests.reading import compile_directory, main
from tests.kits import state_machine_arn
from tests.unit.catalog.manifest_files import SMALLEST, compiled, put, with_line


def test_a_folder_that_is_not_there_is_a_fault(folder: Path) -> None:
    with pytest.raises(CatalogError, match="there is no such folder"):
        compile_directory(folder / "nowhere")


def test_a_release_may_have_no_manifests(folder: Path) -> None:
    assert read_catalog(compile_directory(folder), {}).in_order == ()


# ---------------------------------------------------------------------------------------------------------- the command


def test_the_command_writes_the_compiled_form(folder: Path) -> None:
    put(folder, SMALLEST)

    status = main([str(folder), "--output", str(folder / "catalog.json")])

    assert status == 0
    assert (folder / "catalog.json").read_text(encoding="utf-8") == compile_directory(folder)


def test_the_command_says_what_is_wrong_and_writes_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(folder, with_line("ttl: never"))

    status = main([str(folder), "--output", str(folder / "catalog.json")])

    assert status == 1
    assert "greet.yaml: ttl: " in capsys.readouterr().err
    assert not (folder / "catalog.json").exists()


# ---------------------------------------------------------------------------------------------------------- the catalog


@pytest.mark.parametrize(
    "state_machines",
    [
        {},
        {"Other": state_machine_arn("Other")},
        {"Greet": "greet"},
        {"Greet": "arn:aws:states:eu-central-1:123456789012:activity:Greet"},
        {"Greet": "arn:aws:states:eu-central-1:123456789012:execution:Greet:1"},
    ],
)
def test_an_unknown_state_machine_stops_the_start_with_file_and_field(
    state_machines: dict[str, str], folder: Path
) -> None:
    path = put(folder, SMALLEST)

    with pytest.raises(CatalogError) as error:
        read_catalog(compile_directory(folder), state_machines)

    assert str(error.value).startswith(
        f"{path}: state_machine: 'Greet' is neither an ARN of a state machine nor a name"
    )


def test_a_catalog_of_another_format_stops_the_start() -> None:
    with pytest.raises(CatalogError, match="make catalog"):
        read_catalog('{"format":99,"tools":[]}', {})


@pytest.mark.parametrize("text", ["", "{", "[]", '{"tools":[]}'])
def test_an_invalid_catalog_stops_the_start(text: str) -> None:
    with pytest.raises(CatalogError, match="make catalog"):
        read_catalog(text, {})


def test_a_catalog_reads_a_schema_of_any_depth_that_a_manifest_may_have(folder: Path) -> None:
    schema: dict[str, Any] = {}
    for _ in range(99):
        schema = {"properties": {"a": schema}}
    put(folder, with_line("input_schema: " + str({"type": "object", **schema})))

    tool = compiled(folder)

    assert tool.input_schema.count("properties") == 99
