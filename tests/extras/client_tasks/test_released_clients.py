"""Questions for which released clients create tasks, each in the task store of its SDK (2025-11-25).

The Python SDK has handlers and a store; the TypeScript SDK answers `tasks/get`, `tasks/result` and `tasks/cancel` from
its
store by itself.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from stepwire.engine.upkeep import NOT_SUPPORTED
from tests.clients.endpoint import serving
from tests.clients.programs import LEGACY_PYTHON, in_node, in_python
from tests.extras.client_tasks.asking_work import AskingWork
from tests.kits import ARGUMENTS, SAMPLED

# Why long: each starts a client's process; test_asking.py asserts the same of the server.
pytestmark = pytest.mark.long

Json = dict[str, Any]
ACCEPT: Final[Json] = {"action": "accept", "content": {"amount": 7}}
DRIVER: Final = Path(__file__).parent / "mcp_1.py"
COMES_BACK: Final = ("tasks/get", "tasks/result", "tasks/cancel")
each_library = pytest.mark.parametrize("library", ["python", "typescript"])


@pytest.fixture
def work() -> AskingWork:
    """A workflow that asks."""
    return AskingWork()


@pytest.fixture
def url(work: AskingWork) -> Iterator[str]:
    """The URL of its endpoint."""
    with serving(work.handle) as url:
        yield url


def seen_by(library: str, url: str, what: str, *, as_task: bool = True) -> Json:
    """Let a client call the tool; return its questions and its result."""
    plan: Json = {"what": what, "as_task": as_task, "arguments": ARGUMENTS, "user": ACCEPT, "model": SAMPLED}
    if library == "python":
        return in_python(LEGACY_PYTHON, DRIVER, url, {**plan, "name": "mcp"})
    return in_node("client_tasks.mjs", url, plan=plan)


# N1, N2
@each_library
@pytest.mark.parametrize("as_task", [True, False])
def test_the_results_of_client_tasks_are_the_answers(
    work: AskingWork, url: str, library: str, *, as_task: bool
) -> None:
    seen = seen_by(library, url, "completes", as_task=as_task)

    assert seen["result"]["structuredContent"] == {"user": ACCEPT, "model": SAMPLED}
    assert seen["statuses"] == ["completed"] * 2
    questions = [one for one in seen["asked"] if one not in COMES_BACK]
    assert sorted(questions) == ["elicitation/create with task", "sampling/createMessage with task"]
    assert seen["asked"].count("tasks/result") == 2
    assert "tasks/get" in seen["asked"]
    assert "tasks/cancel" not in seen["asked"]
    assert len(work.workflows.resumptions) == 2, "no answer may be delivered twice"
    assert work.world.faults == []


@pytest.mark.long
@each_library
def test_a_failed_client_task_fails_the_state(work: AskingWork, url: str, library: str) -> None:
    seen = seen_by(library, url, "fails")

    assert seen["result"]["structuredContent"] == {"user": NOT_SUPPORTED, "model": NOT_SUPPORTED}
    assert work.world.faults == []


@each_library
def test_a_cancelled_client_task_cancels_the_question(work: AskingWork, url: str, library: str) -> None:
    seen = seen_by(library, url, "is cancelled")

    assert seen["result"]["structuredContent"] == {"user": {"action": "cancel"}, "model": NOT_SUPPORTED}
    assert work.world.faults == []


@pytest.mark.long
@each_library
def test_a_question_whose_client_task_was_lost_is_asked_again_without_a_task(
    work: AskingWork, url: str, library: str
) -> None:
    seen = seen_by(library, url, "is lost")

    questions = [one for one in seen["asked"] if one not in COMES_BACK]
    assert sorted(questions[2:]) == ["elicitation/create", "sampling/createMessage"], "in the order of its answers"
    assert seen["result"]["structuredContent"] == {"user": ACCEPT, "model": SAMPLED}
    assert work.world.faults == []


# N3
@each_library
def test_client_tasks_are_cancelled_with_our_task(work: AskingWork, url: str, library: str) -> None:
    seen = seen_by(library, url, "is not wanted")

    assert seen["result"]["isError"]
    assert seen["asked"].count("tasks/cancel") == 2
    assert seen["statuses"] == ["cancelled"] * 2
    assert not work.workflows.running()
    assert work.world.faults == []
