"""Released clients accept every result of work that outlasts their call, including the tool's own structured result.

Each SDK validates results against the listed output schemas: it must accept both the unfinished result and the one that
`task_result` fetches.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from mcp.client import Client
from mcp_types import Implementation, TextContent

from tests.interop.long_work import LOOKS, SCHEMAS, LongWork
from tests.kits import ARGUMENTS, OUTPUT
from tests.npm import install, node
from tests.refusals.endpoint import serving
from tests.refusals.typescript import FOLDER
from tests.waiting import HANG_GUARD

Json = dict[str, Any]
ROOT: Final = Path(__file__).parents[2]
LEGACY_PYTHON: Final = ROOT / ".venv-legacy" / "bin" / "python"
FASTMCP: Final = ROOT / ".venv-fastmcp"
SECONDS: Final = HANG_GUARD
COMES_BACK: Final = "mcp"
OF_UNKNOWN_NAME: Final = "an app"
NEXT_STEP: Final = re.compile(r"Next: call (\w+) with (\{.*?\}+)[.,]")
each_name = pytest.mark.parametrize("name", [COMES_BACK, OF_UNKNOWN_NAME])


@pytest.fixture
def work() -> LongWork:
    """An endpoint whose work outlasts any call."""
    return LongWork()


@pytest.fixture
def url(work: LongWork) -> Iterator[str]:
    """The URL of that endpoint."""
    with serving(work.handle) as url:
        yield url


def plan_for(name: str, **more: str) -> Json:
    """Return the plan of a client."""
    return {"name": name, "tools": list(SCHEMAS), "arguments": ARGUMENTS, **more}


def check(seen: Json, work: LongWork) -> None:
    """Compare what a client got of each tool with what it should get."""
    assert seen["listed"][-1] == "task_result"
    assert list(seen["results"]) == list(SCHEMAS)
    for tool, results in seen["results"].items():
        *unfinished, last = results
        assert len(unfinished) == 1 + LOOKS, tool
        for one in unfinished:
            assert one["structuredContent"]["stepwire/task"]["status"] == "working"
            assert not one.get("isError")
        assert last["structuredContent"] == OUTPUT
        assert not last.get("isError")
    assert len(work.world.workflows.starts) == len(SCHEMAS), "no work may be started twice"
    assert work.world.faults == []


@pytest.mark.parametrize("name", [pytest.param(COMES_BACK, marks=pytest.mark.long), OF_UNKNOWN_NAME])
def test_mcp_1(work: LongWork, url: str, name: str) -> None:
    check(seen_by("mcp_1.py", LEGACY_PYTHON, url, plan_for(name)), work)


@pytest.mark.long
@pytest.mark.skipif(
    not (FASTMCP / "ready").exists(), reason=f"{FASTMCP.name} is missing: run `make {FASTMCP.name}/ready`"
)
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_fastmcp(work: LongWork, url: str, mode: str) -> None:
    # Under a name that does not come back: it sends a progressToken, with which a call is polled for an hour.
    check(seen_by("fastmcp_4.py", FASTMCP / "bin" / "python", url, plan_for(OF_UNKNOWN_NAME, mode=mode)), work)


def seen_by(script: str | Path, python: Path, url: str, plan: Json) -> Json:
    """Run a client of another environment, and return what it has seen."""
    ended = subprocess.run(
        [str(python), str(Path(__file__).parent / script), url],
        input=json.dumps(plan),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("mode", "name"),
    [
        pytest.param("legacy", COMES_BACK, marks=pytest.mark.long),
        ("legacy", OF_UNKNOWN_NAME),
        ("auto", OF_UNKNOWN_NAME),
    ],
)
async def test_mcp_2(work: LongWork, url: str, mode: str, name: str) -> None:
    async with Client(url, mode=mode, client_info=Implementation(name=name, version="1")) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        results = {tool: await fetched(client, tool) for tool in SCHEMAS}

    check({"listed": listed, "results": results}, work)


async def fetched(client: Client, tool: str) -> list[Json]:
    """Call a tool, then the tools that the results name next; return all results."""
    results = list[Json]()
    step: tuple[str, Json] | None = (tool, ARGUMENTS)
    while step is not None:
        result = await client.call_tool(*step)
        results.append(result.model_dump(mode="json", by_alias=True))
        words = result.content[0]
        found = NEXT_STEP.search(words.text) if isinstance(words, TextContent) else None
        step = None if found is None else (found[1], json.loads(found[2]))
    return results


@pytest.mark.long
@pytest.mark.parametrize(
    ("library", "mode", "name"),
    [
        ("sdk", "legacy", COMES_BACK),
        ("sdk", "legacy", OF_UNKNOWN_NAME),
        ("client", "legacy", COMES_BACK),
        ("client", "legacy", OF_UNKNOWN_NAME),
        ("client", "auto", OF_UNKNOWN_NAME),
    ],
)
def test_the_typescript_clients(work: LongWork, url: str, library: str, mode: str, name: str) -> None:
    install(FOLDER)

    ended = node(FOLDER, ["fetch.mjs", url], SECONDS, json.dumps(plan_for(name, library=library, mode=mode)))

    assert ended.returncode == 0, ended.stderr
    check(json.loads(ended.stdout), work)
