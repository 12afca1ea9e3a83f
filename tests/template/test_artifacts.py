"""Built artifacts are measured, named by their contents as SAM does, and compared with budgets."""

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from layers.artifacts import (
    FUNCTION_BUDGET,
    UNPACKED_LIMIT,
    artifacts,
    content_hash,
    main,
    over_budget,
    table,
)
from tests.template.document import resources

FUNCTION: Final = "AWS::Serverless::Function"
LAYER: Final = "AWS::Serverless::LayerVersion"
# Random bytes, which zip cannot compress.
NOISE: Final = random.Random(1).randbytes(FUNCTION_BUDGET + 1)


def built(folder: Path, *declared: dict[str, Any]) -> Path:
    """Write what `sam build` would have written."""
    resources = {
        one["Name"]: {key: one[key] for key in ("Type", "Properties", "Metadata") if key in one} for one in declared
    }
    folder.mkdir(exist_ok=True)
    (folder / "template.yaml").write_text(json.dumps({"Resources": resources}))
    for one in declared:
        (folder / one["Name"]).mkdir()
        (folder / one["Name"] / "content").write_bytes(one["Content"])
    return folder


def function(name: str, content: bytes, *layers: str) -> dict[str, Any]:
    properties = {"CodeUri": name, "Layers": [{"Ref": layer} for layer in layers]}
    return {"Name": name, "Type": FUNCTION, "Properties": properties, "Content": content}


def layer(name: str, content: bytes, **metadata: int) -> dict[str, Any]:
    return {"Name": name, "Type": LAYER, "Properties": {"ContentUri": name}, "Content": content, "Metadata": metadata}


@pytest.fixture
def umask() -> Iterator[None]:
    """The umask of a careful administrator."""
    before = os.umask(0o077)
    yield
    os.umask(before)


def test_the_table_has_each_artifact_the_largest_first(tmp_path: Path) -> None:
    build = built(tmp_path, function("Small", b"1"), function("Large", NOISE[:1000]), layer("StepwireLayer", b"22"))

    lines = table(artifacts(build)).splitlines()[1:]

    assert [line.split()[0] for line in lines] == ["Large", "StepwireLayer", "Small"]
    assert all(line.endswith(content_hash(build / line.split()[0])) for line in lines)


def test_the_hash_is_of_names_and_contents_and_not_of_times_or_modes(tmp_path: Path, umask: None) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "new" / "deeper").mkdir(parents=True)
    (tmp_path / "old" / "file").write_bytes(b"same")
    os.utime(tmp_path / "old" / "file", (0, 0))
    (tmp_path / "old" / "file").chmod(0o755)
    (tmp_path / "new" / "deeper" / "file").write_bytes(b"same")

    before = content_hash(tmp_path / "old")

    assert content_hash(tmp_path / "new" / "deeper") == before
    assert content_hash(tmp_path / "new") != before
    (tmp_path / "old" / "file").write_bytes(b"other")
    assert content_hash(tmp_path / "old") != before


def test_a_cost_within_its_budget_passes(tmp_path: Path) -> None:
    build = built(tmp_path, function("Small", b"1", "StepwireLayer"), layer("StepwireLayer", b"22", BudgetInMB=1))

    assert over_budget(artifacts(build)) == []


def test_a_function_over_its_budget_stops_the_build(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    build = built(tmp_path, function("Grown", NOISE))
    monkeypatch.setattr("sys.argv", ["artifacts.py", str(build)])

    with pytest.raises(SystemExit, match=r"Grown has .* bytes zipped; its budget is 1,000,000"):
        main()

    assert "Grown" in capsys.readouterr().out


def test_a_layer_without_a_budget_is_over_it(tmp_path: Path) -> None:
    assert len(over_budget(artifacts(built(tmp_path, layer("NewLayer", b"1"))))) == 1


def test_a_function_with_its_layers_must_be_within_lambdas_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("layers.artifacts.UNPACKED_LIMIT", 1_000)
    half = bytes(500)
    build = built(
        tmp_path,
        layer("DependenciesLayer", half, BudgetInMB=1),
        layer("CatalogDependenciesLayer", half, BudgetInMB=1),
        function("Fits", b"1", "DependenciesLayer"),
        function("DoesNot", b"1", "DependenciesLayer", "CatalogDependenciesLayer"),
    )

    faults = over_budget(artifacts(build))

    assert [fault.partition(" ")[0] for fault in faults] == ["DoesNot"]


def test_every_layer_has_a_budget_and_that_of_the_dependencies_is_12_mb() -> None:
    budgets = {found.logical_id: found.body["Metadata"]["BudgetInMB"] for found in resources(LAYER)}

    assert all(budgets.values())
    assert budgets["DependenciesLayer"] == 12


def test_lambda_takes_250_mib_unpacked() -> None:
    assert UNPACKED_LIMIT == 250 * 1024 * 1024
