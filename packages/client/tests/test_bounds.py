"""The client bounds what it reads: bytes, pages, seconds, and the patterns of schemas."""

import gzip
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from packages.client.tests.conftest import Story
from packages.client.tests.hostile import hostile, sending
from stepwire_client import NotUnderstood, Working, connect
from stepwire_client.http import Bounds, McpHttpClient
from stepwire_client.pages import MOST_PAGES, all_pages
from stepwire_client.patterns import is_fast

pytestmark = pytest.mark.anyio
_NOON = datetime(2026, 8, 1, 12, tzinfo=UTC)
WORKING = Working(task_id="1", created_at=_NOON, last_updated_at=_NOON, ttl=None)
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n%s\r\n"
MEGABYTE = b" " * 1_000_000


def compressed() -> Iterable[bytes]:
    """Send a small body that is a large one."""
    body = gzip.compress(MEGABYTE * 20)
    return (_HEAD % b"content-encoding: gzip\r\nconnection: close\r\n", body)


def endless() -> Iterable[bytes]:
    """Send a body without an end."""
    return itertools.chain([_HEAD % b"connection: close\r\n"], itertools.repeat(MEGABYTE))


@pytest.mark.parametrize(
    ("parts", "said"),
    [(compressed, "compressed, which was not asked for"), (endless, "more than 16 MB")],
    ids=["compressed", "endless"],
)
async def test_a_body_without_bounds_is_not_read(parts: Callable[[], Iterable[bytes]], said: str) -> None:
    with sending(parts) as url, pytest.raises(NotUnderstood, match=said):
        async with connect(url):
            pass


async def test_a_body_that_does_not_end_in_time_is_given_up() -> None:
    with sending(endless) as url:
        async with McpHttpClient(bounds=Bounds(size=10**12, seconds=0)) as http:
            answered = await http.post(url, json={})

    assert answered.json()["error"]["message"] == "Its answer does not end within 0 s."


@dataclass(frozen=True)
class Page:
    """A page of a list that never ends."""

    text: str = ""
    next_cursor: str | None = "more"


@pytest.mark.parametrize(
    ("page", "said"),
    [(Page(), f"more than {MOST_PAGES} pages"), (Page("x" * 9_000_000), "more than 16 MB")],
    ids=["pages", "size"],
)
async def test_a_list_without_an_end_is_given_up(page: Page, said: str) -> None:
    fetched = list[str | None]()

    async def fetch(cursor: str | None) -> Page:
        fetched.append(cursor)
        return page

    with pytest.raises(NotUnderstood, match=said):
        await all_pages(fetch)

    assert len(fetched) <= MOST_PAGES


async def test_a_list_is_read_to_its_last_page() -> None:
    pages = {None: Page("1", "a"), "a": Page("2", "b"), "b": Page("3", None)}

    async def fetch(cursor: str | None) -> Page:
        return pages[cursor]

    assert await all_pages(fetch) == list(pages.values())


@pytest.mark.parametrize(
    ("pattern", "fast"),
    [
        ("abc", True),
        ("^(a|b|c)$", True),
        ("^[A-Z]{2}-[0-9]{6}$", True),
        (r"^ORD-\d+$", True),
        (r"^\(+$", True),
        ("^[^]+]+$", True),
        ("^(a+)+$", False),
        ("^(a|a){30}$", False),
        ("^.+@.+$", False),
        ("^a?a?aa$", False),
        ("a+$", False),
        ("^a|b+$", False),
        (r"^(.*)\1$", False),
        ("^(?=a+)b", False),
        ("x{999}y", False),
        ("^" + "a" * 1_000, False),
    ],
)
def test_a_pattern_is_fast_only_if_it_plainly_is(pattern: str, *, fast: bool) -> None:
    assert is_fast(pattern) is fast


async def test_no_result_is_held_against_a_pattern_that_takes_for_ever() -> None:
    def change(listed: dict[str, Any]) -> None:
        for tool in listed["tools"]:
            said = {"type": "string", "pattern": "^(a+)+$"}
            tool["outputSchema"] = {"type": "object", "properties": {"said": said}}

    def end(task: dict[str, Any]) -> None:
        if "result" in task:
            task["result"]["structuredContent"] = {"said": "a" * 60 + "!"}

    with hostile(tools_list=change, tasks_get=end) as url:
        async with connect(url) as client:
            result = await client.call_tool("instant", {"text": "hi"})

    assert not result.is_error


@pytest.mark.parametrize("hint", [timedelta(days=10**6), timedelta.max])
async def test_the_pause_between_polls_has_a_longest(story: Story, hint: timedelta) -> None:
    await story.pace.rest(replace(WORKING, poll_interval=hint))

    assert story.pauses == [600]
