"""No refusal may end a client's session: released clients get every refusal, then make one more call in the session.

`mcp` 1.30 closes its session, with all other calls in it, on any HTTP status of 400 and above except 404.
"""

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from stepwire.errors import ProtocolError, TaskStillRunning
from tests.npm import install
from tests.refusals.endpoint import OUTPUT, Served, served
from tests.refusals.mcp_2 import seen_by_mcp_2
from tests.refusals.typescript import FOLDER, seen_by
from tests.refusals.way import LEGACY, MODERN, Way
from tests.refusals.ways import (
    AFTER_GIVING_UP,
    BEFORE_THE_MESSAGE,
    OF_EXTRAS,
    OF_URLS,
    WAYS,
    leaves,
)
from tests.waiting import HANG_GUARD

Json = dict[str, Any]
ROOT: Final = Path(__file__).parents[2]
LEGACY_PYTHON: Final = ROOT / ".venv-legacy" / "bin" / "python"
SECONDS: Final = HANG_GUARD
THEN: Final = ["tools/call", {"name": "instant", "arguments": {"text": "one more"}}]
COMES_BACK: Final = "mcp"
DOES_NOT_COME_BACK: Final = "Visual Studio Code"
NO_TASKS: Final = "a client without tasks"

WRONG: Final = {"action": "accept", "content": {"amount": 5_000}}
INEXACT: Final = {"action": "accept", "content": {"amount": 1_859_999_999_999_999_999}}
RIGHT: Final = {"action": "accept", "content": {"amount": 7}}
WORDY: Final = {"action": "accept", "content": {"reason": "x" * 21}}
BRIEF: Final = {"action": "accept", "content": {"reason": "They are old."}}
TALKS: Final = {
    "what a workflow asks": {"tool": "asking", "answers": [WRONG, WRONG, RIGHT]},
    "what a workflow asks, and an integer of 19 digits": {"tool": "asking", "answers": [INEXACT, RIGHT]},
    "what is asked before": {"tool": "confirmed", "answers": [WORDY, WORDY, BRIEF]},
}


def plan_for(version: str, *, can_ask: bool, as_task: bool = False, name: str = COMES_BACK, **more: Any) -> Json:
    """Return the plan of a client; one that can ask its user is asked, and one that cannot is refused."""
    ways = {title: way.requests for title, way in ways_of(version, name).items()}
    talks = {title: {"arguments": {"text": "hello"}, "as_task": as_task, **talk} for title, talk in TALKS.items()}
    known = {"ways": {}, "talks": talks} if can_ask else {"ways": ways, "talks": {}}
    return {"name": name, "can_ask": can_ask, "then": THEN, **known, **more}


def ways_of(version: str, name: str) -> Mapping[str, Way]:
    """Return the ways of an era that a client of this name can take."""
    known = {title: way for title, way in WAYS.items() if version in way.versions}
    if name == NO_TASKS:
        return {title: way for title, way in known.items() if not way.has_task}
    if name == COMES_BACK:
        return {title: way for title, way in known.items() if way.error is not TaskStillRunning}
    return known


SHOWN_AS: Final = {-32002: (-32002, -32602)}
"""Codes that a client may turn into another: `client` 2.4 shows a missing resource as 2026-07-28 does, in both eras."""


def check_ways(seen: Json, site: Served, version: str, name: str = COMES_BACK) -> None:
    """Compare what a client saw of its refusals with what it should see."""
    ways = ways_of(version, name)
    assert list(seen) == list(ways)
    for title, (refused, then) in seen.items():
        assert "error" in refused, title  # `client` 2.4 reports one error without its code: a missing scope
        code = code_of(ways[title].error)
        assert refused["error"].get("code", code) in SHOWN_AS.get(code, (code,)), title
        assert then["result"]["structuredContent"] == OUTPUT, f"the call after {title}"
    audited = [way.error.__name__ for way in ways.values() if way.is_audited]
    assert site.endpoint.refusals() == audited


def code_of(error: type[ProtocolError]) -> int:
    """Return the code of an error; a workflow may choose its own."""
    return getattr(error, "code", 4001)


def check_talks(seen: Json) -> None:
    """Compare the questions to a user with the answers given."""
    for title, talk in TALKS.items():
        shown, then = seen[title]
        first, *more = shown["asked"]
        assert len(more) == len(talk["answers"]) - 1
        assert all(again.startswith(f"{first} (The answer before was not accepted: ") for again in more)
        assert not shown["result"]["isError"], shown
        assert then["result"]["structuredContent"] == OUTPUT, f"the call after {title}"


@pytest.fixture
def site() -> Iterator[Served]:
    """A new endpoint."""
    with served() as site:
        yield site


def test_every_error_is_tested_with_released_clients() -> None:
    tried = {way.error for way in WAYS.values()}

    assert leaves() <= tried | set(BEFORE_THE_MESSAGE) | set(AFTER_GIVING_UP) | OF_EXTRAS | OF_URLS
    assert not tried & set(BEFORE_THE_MESSAGE)


def test_every_error_after_a_valid_legacy_message_has_status_200() -> None:
    assert {error.legacy_status for error in leaves()} == {200}


@pytest.mark.long
class TestMcp1:
    """`mcp` 1.30, which supports 2025-11-25 and its tasks."""

    @pytest.mark.parametrize("name", [COMES_BACK, DOES_NOT_COME_BACK])
    def test_a_refused_client_makes_one_more_call_in_the_same_session(self, site: Served, name: str) -> None:
        seen = run(site, plan_for(LEGACY, can_ask=False, name=name))

        check_ways(seen, site, LEGACY, name)

    @pytest.mark.parametrize(
        "as_task", [False, pytest.param(True, marks=pytest.mark.long)], ids=["plainly", "as a task"]
    )
    def test_a_user_who_answers_wrongly_is_asked_again(self, site: Served, as_task: bool) -> None:
        seen = run(site, plan_for(LEGACY, can_ask=True, as_task=as_task))

        check_talks(seen)


def run(site: Served, plan: Json) -> Json:
    """Run mcp_1.py."""
    command = [str(LEGACY_PYTHON), str(Path(__file__).parent / "mcp_1.py"), site.url]
    ended = subprocess.run(
        command, input=json.dumps(plan), capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.anyio
class TestMcp2:
    """`mcp` 2.3, in both eras."""

    @pytest.mark.parametrize(("mode", "version", "name"), [("legacy", LEGACY, NO_TASKS), ("auto", MODERN, COMES_BACK)])
    async def test_a_refused_client_makes_one_more_call_in_the_same_session(
        self, site: Served, mode: str, version: str, name: str
    ) -> None:
        plan = plan_for(version, can_ask=False, mode=mode, with_tasks=version == MODERN, name=name)

        seen = await seen_by_mcp_2(site.url, plan)

        check_ways(seen, site, version, name)

    @pytest.mark.parametrize(
        ("mode", "with_tasks"),
        [pytest.param("legacy", False, marks=pytest.mark.long), ("auto", False), ("auto", True)],
    )
    async def test_a_user_who_answers_wrongly_is_asked_again(self, site: Served, mode: str, with_tasks: bool) -> None:
        seen = await seen_by_mcp_2(site.url, plan_for(MODERN, can_ask=True, mode=mode, with_tasks=with_tasks))

        check_talks(seen)


@pytest.fixture(scope="session")
def packages() -> None:
    """The npm packages of the TypeScript clients."""
    install(FOLDER)


@pytest.mark.long
@pytest.mark.usefixtures("packages")
class TestTypeScript:
    """`@modelcontextprotocol/sdk` 1.32, `client` 2.4 in both eras, and `ext-tasks` 0.2 over it."""

    @pytest.mark.parametrize(
        ("library", "mode", "version"),
        [("sdk", "legacy", LEGACY), ("client", "legacy", LEGACY), ("client", "auto", MODERN)],
    )
    def test_a_refused_client_makes_one_more_call_in_the_same_session(
        self, site: Served, library: str, mode: str, version: str
    ) -> None:
        plan = plan_for(version, can_ask=False, library=library, mode=mode, with_tasks=version == MODERN)

        seen = seen_by(site.url, plan)

        check_ways(seen, site, version)

    @pytest.mark.parametrize(
        ("library", "mode"),
        [("sdk", "legacy"), ("client", "legacy"), ("client", "auto"), ("ext-tasks", "legacy"), ("ext-tasks", "auto")],
    )
    def test_a_user_who_answers_wrongly_is_asked_again(self, site: Served, library: str, mode: str) -> None:
        seen = seen_by(site.url, plan_for(MODERN, can_ask=True, library=library, mode=mode))

        check_talks(seen)
