"""The examples of docs/python_client.md and of the package's README run as they stand."""

import ast
import asyncio
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from msgspec.structs import replace

from stepwire.json_text import write
from tests.clients.endpoint import SOON, served
from tests.kits import OPTIONAL, plan_of, state_machine_arn

ROOT = Path(__file__).parents[3]
SERVED = "http://127.0.0.1:3000/mcp"
"""Where the pages say that `make run` serves."""
ANYTHING = write({"type": "object"})
TOOLS = tuple(
    replace(OPTIONAL, name=name, plan=plan_of(state_machine_arn(machine)), input_schema=ANYTHING, poll_interval=SOON)
    for name, machine in (("approve_refund", "asking"), ("profile_dataset", "instant"))
)


def examples(page: str) -> list[str]:
    """Return the Python examples of a page."""
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def url() -> Iterator[str]:
    """The URL of an endpoint with the tools of the examples."""
    with served(TOOLS) as there:
        yield there.url


@pytest.mark.parametrize(
    ("page", "printed"),
    [("docs/python_client.md", "'action': 'accept'"), ("packages/client/README.md", "'approve_refund'")],
)
def test_the_whole_program_at_the_top_runs(
    url: str, page: str, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program = examples(page)[0]
    assert SERVED in program

    exec(compile(program.replace(SERVED, url), page, "exec"), {"__name__": "__main__"})

    assert printed in capsys.readouterr().out


def test_the_other_examples_run_inside_of_a_program(url: str) -> None:
    names: dict[str, Any] = {"url": url, "token": "t", "text": "a,b"}

    async def run(code: CodeType) -> None:
        found = eval(code, names)
        if inspect.isawaitable(found):
            await found

    rest = examples("docs/python_client.md")[1:]
    for example in rest:
        asyncio.run(run(compile(example, "python_client.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)))

    assert len(rest) == 5
    assert names["result"].is_error in (False, None)
