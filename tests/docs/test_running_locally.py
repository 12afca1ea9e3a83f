"""The example of docs/running_locally.md runs as the page says, and so do its lines about what cannot run."""

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from stepwire_local import LocalStack
from stepwire_local.cloudformation.template import load
from stepwire_local.terminal.welcome import told
from tests.docs.pages import ROOT, Page, page
from tests.integration.stacks import AwsCalls, Deployed
from tests.server.clients import ModernClient
from tests.waiting import until

PAGE: Final[Page] = page(ROOT / "docs" / "running_locally.md")
_FILE: Final = re.compile(r"^`(stubs/\S+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_OUTPUT: Final = re.compile(r"A call of `(\w+)` ends with `(\{.*\})`")


def write(folder: Path, *, stubs: bool) -> Path:
    """Write the example into a folder; return its template."""
    _, template = PAGE.blocks("yaml")
    path = folder / "template.yaml"
    path.write_text(template, encoding="utf-8")
    for name, text in _FILE.findall(PAGE.text) if stubs else ():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return path


def result_of(stack: LocalStack, tool: str) -> Any:
    client = ModernClient(Deployed(stack, AwsCalls()))
    task_id = client.call(tool, {"order": "o-1"}).id_in()
    until(lambda: client.task("get", task_id).result["status"] == "completed")
    return client.task("get", task_id).result["result"]["structuredContent"]


def test_the_example_ends_as_the_page_says(tmp_path: Path) -> None:
    (ends,) = _OUTPUT.findall(PAGE.text)

    template, often = write(tmp_path, stubs=True), {"PollsPerSecond": "0"}
    with LocalStack(ROOT / "stack.yaml", others=[template], name="stepwire", parameters=often) as stack:
        lines, result = told(stack), result_of(stack, ends[0])

    assert result == json.loads(ends[1])
    assert lines[0] == "Stubs:"


def test_without_its_stubs_the_start_says_what_the_page_shows(tmp_path: Path) -> None:
    (shown,) = PAGE.blocks("text")

    with LocalStack(ROOT / "stack.yaml", others=[write(tmp_path, stubs=False)]) as stack:
        lines = told(stack)

    assert [line for line in shown.splitlines() if line not in lines] == []


def test_the_template_around_a_definition_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    lines, _ = PAGE.blocks("yaml")
    (tmp_path / "template.yaml").write_text(lines, encoding="utf-8")
    (tmp_path / "orders.asl.json").write_text('{"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}')

    loaded = load(tmp_path / "template.yaml", {"Endpoint": "stepwire"})

    assert len(lines.splitlines()) == 6
    tags = loaded.section("Resources")["Orders"]["Properties"]["Tags"]
    assert {"Key": "stepwire:endpoint", "Value": {"Ref": "Endpoint"}} in tags
