"""Released clients accept every result of work that outlasts their call, including the tool's own structured result.

Each SDK validates results against the listed output schemas: it must accept both the unfinished result and the one that
`task_result` fetches.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients.endpoint import serving
from tests.clients.long_work import LOOKS, SCHEMAS, LongWork
from tests.clients.released import Client, Trial, tried_with
from tests.kits import ARGUMENTS, OUTPUT

Json = dict[str, Any]


@pytest.fixture
def work() -> LongWork:
    """An endpoint whose work outlasts any call."""
    return LongWork()


@pytest.fixture
def url(work: LongWork) -> Iterator[str]:
    """The URL of that endpoint."""
    with serving(work.handle) as url:
        yield url


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


@tried_with(Trial.LONG_WORK)
def test_a_client_fetches_what_outlasts_its_call(work: LongWork, url: str, client: Client) -> None:
    check(client.sees(url, tools=list(SCHEMAS), arguments=ARGUMENTS), work)
