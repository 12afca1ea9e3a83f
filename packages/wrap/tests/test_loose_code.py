"""Where `stepwire wrap` finds the code of functions that no template names."""

import json
from pathlib import Path

import pytest

from packages.wrap.tests.shown import Shown
from stepwire.manifests.reading import read_manifest
from stepwire_wrap.drafting import Place
from stepwire_wrap.wrapping import wrap

CODE = "def handler(event, context):\n    print(event['order'])\n"
ARN = "arn:aws:lambda:eu-central-1:123456789012:function:"


def properties_of(folder: Path, path: Path, function: str, *files: str) -> list[str]:
    """Return what wrapping a path says of the input of `flows/orders.asl.json`, whose only task is a function."""
    definition = {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": function, "End": True}}}
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(CODE if file.endswith(".py") else "")
    (folder / "infra" / "flows").mkdir(parents=True, exist_ok=True)
    (folder / "infra" / "flows" / "orders.asl.json").write_text(json.dumps(definition))
    assert wrap([folder / path], Place(folder / "tools", "live"), Shown()) == 0
    (made,) = (folder / "tools").glob("*.yaml")
    return list(read_manifest(made.read_text()).input_schema.get("properties", {}))


@pytest.mark.parametrize(
    ("function", "file"),
    [
        ("${ShipFunctionArn}", "code/ship/app.py"),
        ("${ship-order}", "code/ship_order.py"),
        ("${shipping_lambda}", "code/shipping_lambda/ship.py"),
        (f"{ARN}dev-shiporder", "code/ship_order/src/handler.py"),
        (f"{ARN}Orders-ShipOrder0BADCAFE-x7YzAbCdEfGh", "code/ship-order/index.py"),
        (f"{ARN}Orders-ShipOrder-x7YzAbCdEfGh", "code/ship-order/index.py"),
    ],
)
@pytest.mark.parametrize("path", ["", "infra/flows/orders.asl.json"])
@pytest.mark.parametrize("marks", [("README.md",), ("README.md", "infra/main.tf"), ("package.json",)])
def test_code_is_found_by_its_name_in_the_whole_project(
    tmp_path: Path, function: str, file: str, path: str, marks: tuple[str, ...]
) -> None:
    assert properties_of(tmp_path, Path(path), function, file, "code/other/app.py", *marks) == ["order"]


@pytest.mark.parametrize(
    ("file", "code", "names"),
    [
        ("ship.py", "def handle(event, _context):\n    return event['order']", ["order"]),
        ("ship.js", "exports.main = async (event) => event.order", ["order"]),
        ("ship.ts", "export const main = async (event: any) => event.order", ["order"]),
        ("ship.py", "def one(event, context): ...\ndef two(event, context): return event['order']", []),
    ],
)
def test_a_function_is_known_by_its_event(tmp_path: Path, file: str, code: str, names: list[str]) -> None:
    (tmp_path / file).write_text(code)

    assert properties_of(tmp_path, Path(), "${ship}") == names


def test_the_nearest_code_of_a_name_is_meant(tmp_path: Path) -> None:
    files = ("infra/code/ship.py", "other/code/ship.py", "README.md", "infra/package.json")

    assert properties_of(tmp_path, Path(), "${ship}", *files) == ["order"]


@pytest.mark.parametrize("files", [("a/ship.py", "b/ship.py"), ("a/bill.py", "b/pay.py")])
def test_two_that_fit_are_none(tmp_path: Path, files: tuple[str, ...]) -> None:
    assert properties_of(tmp_path, Path(), "${ship}", *files) == []


def test_code_outside_the_project_is_not_looked_for(tmp_path: Path) -> None:
    files = ("code/ship.py", "code/bill.py", "infra/README.md")

    assert properties_of(tmp_path, Path("infra/flows/orders.asl.json"), "${ship}", *files) == []
