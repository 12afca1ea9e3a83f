"""What the local stack builds beside a handler, as `sam build` does with the function's Makefile."""

import json
from pathlib import Path

import pytest

from stepwire.catalog.tools import read_catalog
from stepwire_local.errors import FunctionLoadError
from stepwire_local.lambdas.catalog import compile_catalog, list_release_tools

MANIFEST = "name: settle\ndescription: Settles.\nstate_machine: Settle\ninput_schema: {type: object}\n"
RECIPE = (Path(__file__).parents[4] / "functions/catalog/Makefile").read_text(encoding="utf-8")


@pytest.fixture
def functions(tmp_path: Path) -> Path:
    tools = tmp_path / "functions/mcp/tools"
    tools.mkdir(parents=True)
    (tools / "settle.yaml").write_text(MANIFEST, encoding="utf-8")
    (tools.parent / "app.py").write_text("import stepwire\n", encoding="utf-8")
    (tmp_path / "functions/catalog").mkdir()
    (tmp_path / "functions/catalog/Makefile").write_text(RECIPE, encoding="utf-8")
    return tmp_path / "functions"


def test_function_catalog_gets_the_names_of_the_release_s_tools(functions: Path) -> None:
    list_release_tools("CatalogFunction", functions / "catalog")

    written = json.loads((functions / "catalog/release_tools.json").read_text(encoding="utf-8"))
    assert written == {"settle": str(functions / "mcp/tools/settle.yaml")}


def test_a_function_whose_makefile_lists_none_gets_none(functions: Path) -> None:
    list_release_tools("McpFunction", functions / "mcp")

    assert not (functions / "mcp/release_tools.json").exists()


def test_a_function_with_tools_gets_its_catalog(functions: Path) -> None:
    compile_catalog("McpFunction", functions / "mcp")

    text = (functions / "mcp/catalog.json").read_text(encoding="utf-8")
    arn = "arn:aws:states:eu-central-1:123456789012:stateMachine:Settle"
    assert list(read_catalog(text, {"Settle": arn}).tools) == ["settle"]


def test_a_wrong_manifest_stops_the_start_with_its_file(functions: Path) -> None:
    (functions / "mcp/tools/settle.yaml").write_text("name: settle\n", encoding="utf-8")

    with pytest.raises(FunctionLoadError, match=r"CatalogFunction: .*settle.yaml: description: is missing"):
        list_release_tools("CatalogFunction", functions / "catalog")
