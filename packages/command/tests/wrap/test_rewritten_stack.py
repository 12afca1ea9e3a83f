"""What `stepwire wrap --write` has written, on the local stack: the caller is asked."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from mcp_types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult

from packages.wrap.tests.test_rewriting import CALLER, STYLES, estate, put
from stepwire_client import Callbacks, Pace, connect
from stepwire_local import LocalStack
from stepwire_local.console import Console, Watchers
from stepwire_wrap.exits import Exit
from tests.integration.stacks import ROOT

pytestmark = pytest.mark.anyio
ORDER: Final[dict[str, Any]] = {"order": "A7"}


def served(folder: Path, style: str, deciding: Any) -> Iterator[LocalStack]:
    template = estate(folder, *STYLES[style])
    assert put(folder, deciding)[0] == Exit.DONE
    given = {"PollsPerSecond": "0", "WaitSeconds": "0"}
    stack = LocalStack(ROOT / "stack.yaml", others=[template], name=folder.name, parameters=given)
    console = Console(stack)
    stack.watcher, stack.front = Watchers(console), console.in_front_of
    with stack:
        yield stack


@pytest.fixture(scope="module")
def for_the_caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    yield from served(tmp_path_factory.mktemp("caller"), "in the template", CALLER)


@pytest.mark.parametrize(
    ("action", "approved", "bought"), [("accept", True, True), ("accept", False, False), ("decline", None, False)]
)
async def test_the_caller_is_asked_where_that_was_chosen(
    for_the_caller: LocalStack, action: Any, approved: bool | None, *, bought: bool
) -> None:
    asked: list[ElicitRequestFormParams] = []

    async def answer(params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        asked.append(params)
        return ElicitResult(action=action, content=None if approved is None else {"approved": approved})

    pace = Pace(longest=timedelta(seconds=0.1))
    async with connect(for_the_caller.url, callbacks=Callbacks(elicit=answer), pace=pace) as client:
        result = await client.call_tool("orders", ORDER)

    assert [list(one.requested_schema["properties"]) for one in asked] == [["approved"]]
    assert (result.is_error, result.structured_content) == (False, {"bought": bought}), result.content
