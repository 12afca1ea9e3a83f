"""One endpoint serves forty state machines of four teams, and no team's mistake is another's trouble."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from stepwire.catalog.live import REREAD_AFTER
from stepwire_local import LocalStack
from tests.integration.clock import Clock
from tests.integration.forty_machines import ARGUMENTS, KINDS, TEAMS, make_the_rest, tool_of, write_templates
from tests.integration.owners import Owner
from tests.integration.stacks import ROOT, AwsCalls, Deployed
from tests.server.clients import LegacyClient, ModernClient
from tests.waiting import until

pytestmark = pytest.mark.long  # forty machines take seconds to make; test_registration.py has the same with one

TOOLS = [tool_of(team, kind) for team in TEAMS for kind in KINDS]
ENOUGH = 30  # calls while an owner changes a tool


@pytest.fixture(scope="module")
def stack(clock: Clock, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    templates = write_templates(tmp_path_factory.mktemp("teams"))
    parameters = {"WaitSeconds": "15", "PollsPerSecond": "0", "MostActiveTasks": "1000", "MostTasksPerMinute": "60000"}
    with LocalStack(ROOT / "stack.yaml", others=templates, parameters=parameters) as local, clock.drives(local):
        make_the_rest(local)
        local.drain()
        yield Deployed(local, AwsCalls())


def outcome_of(kind: str, result: Any) -> Any:
    """Return the output of a tool's result, or the name of its error."""
    if result.get("isError"):
        return next(name for name in ("OnPurpose",) if name in result["content"][0]["text"])
    return result["structuredContent"]


def call_modern(stack: Deployed, tool: str, kind: str) -> Any:
    client = ModernClient(stack)
    answer = client.call(tool, ARGUMENTS).result
    if kind == "hurries":
        return outcome_of(kind, answer)
    task_id = answer["taskId"]
    until(lambda: client.task("get", task_id).result["status"] == "completed")
    return outcome_of(kind, client.task("get", task_id).result["result"])


def call_legacy(stack: Deployed, tool: str, kind: str) -> Any:
    client = LegacyClient.opened(stack)
    if kind == "hurries":
        return outcome_of(kind, client.call(tool, ARGUMENTS).result)
    task_id = client.call(tool, ARGUMENTS, task={}).id_in("task")
    until(lambda: client.task("get", task_id).result["status"] in ("completed", "failed"))
    return outcome_of(kind, client.task("result", task_id).result)


ERAS: list[Callable[[Deployed, str, str], Any]] = [call_modern, call_legacy]


@pytest.mark.parametrize("client", [ModernClient, LegacyClient], ids=["modern", "legacy"])
def test_all_forty_are_listed_in_both_eras(stack: Deployed, client: Any) -> None:
    listed = [tool["name"] for tool in client(stack).ask("tools/list").result["tools"]]

    assert len(TOOLS) == 40
    assert [name for name in listed if not name.startswith("task_")] == sorted(TOOLS)


@pytest.mark.parametrize("call", ERAS, ids=["modern", "legacy"])
@pytest.mark.parametrize("team", TEAMS)
@pytest.mark.parametrize("kind", KINDS)
def test_each_of_the_forty_answers_a_call_in_both_eras(stack: Deployed, kind: str, team: str, call: Any) -> None:
    assert call(stack, tool_of(team, kind), kind) == KINDS[kind][1]


def test_an_owner_registers_changes_breaks_and_removes_a_tool_and_no_other_call_fails(
    stack: Deployed, clock: Clock
) -> None:
    owner, client, stop = Owner(stack, stack.stack.physical_ids["Echoes"]), ModernClient(stack), Event()

    def keep_calling(number: int) -> list[tuple[Any, Any]]:
        outcomes: list[tuple[Any, Any]] = []
        while not stop.is_set() or len(outcomes) < ENOUGH:
            team, kind = TEAMS[len(outcomes) % 4], list(KINDS)[(number + len(outcomes)) % 10]
            outcomes.append((ERAS[number % 2](stack, tool_of(team, kind), kind), KINDS[kind][1]))
        return outcomes

    def described() -> str | None:
        tools = client.ask("tools/list").result["tools"]
        return next((tool["description"] for tool in tools if tool["name"] == "fresh"), None)

    def listed_in_time(description: str | None) -> None:
        """Let 30 seconds pass after the compilation. A caller may be reading the list anew at that very moment."""
        stack.stack.drain()
        clock.move(seconds=REREAD_AFTER.total_seconds())
        until(lambda: described() == description)

    with ThreadPoolExecutor(2) as pool:
        callers = [pool.submit(keep_calling, number) for number in range(2)]
        try:
            owner.register("fresh", description="New.")
            listed_in_time("New.")
            owner.register("fresh", description="Changed.")
            listed_in_time("Changed.")
            owner.register("fresh", descriptoin="Broken.")
            listed_in_time("Changed.")
            refusals = owner.refusals()
            still = outcome_of("", called(client, "fresh"))
            owner.remove("fresh")
            listed_in_time(None)
        finally:
            stop.set()
        outcomes = [one for caller in callers for one in caller.result()]

    assert list(refusals) == ["fresh"]
    assert "did you mean description?" in refusals["fresh"]["reason"]
    assert refusals["fresh"]["source"] == owner.path("fresh")
    assert still == ARGUMENTS
    assert [got for got, wanted in outcomes if got != wanted] == []
    assert len(outcomes) >= 2 * ENOUGH


def called(client: ModernClient, tool: str) -> Any:
    task_id = client.call(tool, ARGUMENTS).id_in()
    until(lambda: client.task("get", task_id).result["status"] == "completed")
    return client.task("get", task_id).result["result"]


def test_one_team_s_template_is_wrong_and_the_others_are_served(tmp_path: Path) -> None:
    templates = write_templates(tmp_path)
    text = templates[0].read_text(encoding="utf-8")
    templates[0].write_text(text.replace("name: sam_echoes", "nmae: sam_echoes"), encoding="utf-8")

    with LocalStack(ROOT / "stack.yaml", others=templates) as local:
        stack = Deployed(local, AwsCalls())
        names = {tool["name"] for tool in ModernClient(stack).ask("tools/list").result["tools"]}
        refusals = Owner(stack, "").refusals()

    assert {tool_of(team, kind) for team in TEAMS[:3] for kind in KINDS} - names == {"sam_echoes"}
    assert list(refusals) == ["sam_echoes"]
