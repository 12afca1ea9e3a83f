"""The demo runs a task through the official client, and its exit code is an honest one."""

from pathlib import Path
from typing import Any

import pytest

from examples import demo
from local import LocalStack
from tests.examples.stacks import PENGUINS, stack_with_bucket


@pytest.fixture(scope="module")
def stack() -> Any:
    """Serve the template."""
    with stack_with_bucket() as stack:
        yield stack


def test_the_shipped_data_are_profiled_as_a_task(stack: LocalStack, capsys: pytest.CaptureFixture[str]) -> None:
    code = demo.main(["--url", stack.url])

    shown = capsys.readouterr().out
    assert code == 0
    assert "protocol 2026-07-28" in shown
    assert "working; kept for 7 days" in shown
    assert "completed" in shown
    assert "344 rows, 17 columns" in shown
    assert "The report agrees with the file." in shown


def test_a_failing_workflow_fails_the_demo(
    stack: LocalStack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.csv"
    file.write_text("a\n1,2\n")

    code = demo.main(["--url", stack.url, "--data", str(file)])

    assert code == 1
    assert "DatasetInvalid" in capsys.readouterr().out


def test_an_endpoint_that_is_not_there_fails_the_demo(capsys: pytest.CaptureFixture[str]) -> None:
    code = demo.main(["--url", "http://127.0.0.1:9/mcp"])

    assert code == 1
    assert "Connect" in capsys.readouterr().out


def test_markup_in_a_file_is_shown_and_not_obeyed(
    stack: LocalStack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "markup.csv"
    file.write_text("[bold]a[/bold],b\n[/red],[/red]\n[/red],2\n")

    code = demo.main(["--url", stack.url, "--data", str(file)])

    shown = capsys.readouterr().out
    assert code == 0
    assert "[bold]a[/bold]" in shown
    assert "[/red] (2)" in shown


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"rows": 343}, "The report has 343 rows, the file 344."),
        ({"columns": []}, "The report has 0 columns, the file 17."),
        ({"missing_values": []}, "Sex: 11 missing values; in the file Sex: 0."),
    ],
)
def test_a_wrong_report_is_found_out(stack: LocalStack, change: dict[str, Any], difference: str) -> None:
    text = PENGUINS.read_text()
    dataset = stack.invoke("ReadDatasetFunction", {"csv": text})
    marks = dataset["missing_values"]
    columns = [
        stack.invoke("ProfileColumnFunction", {"column": item, "missing_values": marks}) for item in dataset["columns"]
    ]
    report = {**dataset, "columns": columns}

    differences = list(demo.differences({**report, **change}, text))

    assert list(demo.differences(report, text)) == []
    assert difference in differences
