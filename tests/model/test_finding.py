"""The model finds defects: it fails if one part of the product is left out, and names the defect.

A short scripted run shows that the reference notices the defect. Another test shows that the random search finds such
runs by itself; it takes minutes.
"""

from collections.abc import Callable

import pytest

from stepwire.aws.step_functions import StepFunctionsWorkflows
from stepwire.aws.storage import task_store
from stepwire.aws.storage.limiter import CallerUsage
from stepwire.aws.storage.task_store import DynamoDbTaskStore
from stepwire.engine.follow_ups import FollowUps
from stepwire.engine.recorder import Recorder
from stepwire.engine.runs import Runs
from stepwire.tasks import lifecycle
from stepwire.tasks.ids import RANDOM_BYTES, TaskId, TaskKey, new_task_id
from stepwire.tasks.runs import Attempt
from stepwire.tasks.task import Execution, Task
from tests.extras import parts
from tests.kits import ALICE, BOB
from tests.model.defect import Defect, always, left_out
from tests.model.machine import Machine
from tests.model.profile import explore

MOST_STEPS = 30_000
_STILL_RUNNING = "the execution of an ended task is still running|nobody will stop the execution of an ended task"
_load, _stop = DynamoDbTaskStore.load, StepFunctionsWorkflows.stop


def _of_anybody(store: DynamoDbTaskStore, key: TaskKey) -> Task | None:
    found = (_load(store, TaskKey(owner, key.task_id)) for owner in (ALICE, BOB))
    return next(filter(None, found), None)


def _unchecked(_recorder: Recorder, _owner: object, task: Task | None) -> Task | None:
    return task


def _never_followed(*_args: object) -> None:
    return None


def _of_any_attempt(_attempt: Attempt, run: int, redrives: int) -> bool:
    return True


def _never_stopped(_runs: object, task: Task, **_how: object) -> Task:
    return task


def _fail_an_attempt(machine: Machine) -> None:
    machine.call("modern", "restarted", None, 0)
    machine.finish(0)
    machine.end(0, "badly")
    machine.deliver(0, comes_again=False)
    machine.finish(0)
    machine.get("modern", 0)
    machine.finish(0)


def _fail_once_and_hear_the_first_end_again(machine: Machine) -> None:
    machine.call("modern", "redriven", None, 0)
    machine.finish(0)
    machine.end(0, "badly")
    machine.deliver(0, comes_again=True)
    machine.finish(0)
    machine.pass_time(60)
    machine.deliver(0, comes_again=False)  # the wake-up
    machine.finish(0)
    machine.deliver(0, comes_again=True)  # the first end
    machine.finish(0)
    machine.deliver(len(machine.news) - 1, comes_again=True)  # and again: the oldest news
    machine.finish_all()
    machine.get("modern", 0)
    machine.finish(0)


def _cancel_while_an_attempt_begins(machine: Machine) -> None:
    machine.call("modern", "restarted", None, 0)
    machine.finish(0)
    machine.end(0, "badly")
    machine.deliver(0, comes_again=False)
    machine.finish(0)
    machine.pass_time(60)
    machine.deliver(0, comes_again=False)  # the wake-up
    machine.go_on(0, lags=False)  # it has read the task, and is about to start its execution
    machine.cancel("modern", 0)
    machine.finish(1)
    machine.go_on(0, lags=False)  # it has started the execution
    machine.die(0)


def _no_arm_is_left(*_args: object) -> tuple[()]:
    return ()


def _end_two_arms_at_once(machine: Machine) -> None:
    machine.call("modern", "racing", None, 0)
    machine.finish(0)
    machine.tie(0, "well")
    for which in (0, 1):  # both have read the task, and are about to save its end
        machine.go_on(which, lags=False)
    machine.finish_all()


def _die_before_the_loser_is_stopped(machine: Machine) -> None:
    machine.call("modern", "racing", None, 0)
    machine.finish(0)
    machine.end(0, "well")
    machine.deliver(0, comes_again=False)
    while machine.under_way and not machine.under_way[0].before.startswith("StopExecution"):
        machine.go_on(0, lags=False)
    if machine.under_way:
        machine.die(0)


def _always_another(follow_ups: FollowUps, *_args: object, **_more: object) -> TaskId:
    return new_task_id(follow_ups.recorder.clock.now(), follow_ups.randomness(RANDOM_BYTES))


def _redrive_twice(machine: Machine) -> None:
    machine.call("modern", "optional", None, 0)
    machine.finish(0)
    machine.end(0, "badly")
    machine.deliver(0, comes_again=False)
    machine.finish(0)
    for _ in range(2):
        machine.redrive(0)
        machine.finish(0)


def _end_a_task(machine: Machine) -> None:
    machine.call("modern", "optional", None, 0)
    machine.finish(0)
    machine.end(0, "well")
    machine.deliver(0, comes_again=False)
    machine.finish(0)


def _call_twice_with_one_key(machine: Machine) -> None:
    for _ in range(2):
        machine.call("modern", "optional", "a", 0)
        machine.finish(0)


def _look_at_a_foreign_task(machine: Machine) -> None:
    machine.call("modern", "optional", None, 0)
    machine.finish(0)
    machine.get("modern of bob", 0)
    machine.finish(0)


def _nothing_is_about_to_begin(workflows: StepFunctionsWorkflows, execution: Execution, cause: str) -> bool:
    _stop(workflows, execution, cause)
    return True


def _cancel_before_the_start(machine: Machine) -> None:
    machine.call_plain("legacy", given_up_first=False)
    while not machine.under_way[0].before.startswith("StartExecution"):
        machine.under_way[0].go_on()
    machine.give_up(0)
    machine.finish(1)
    machine.finish(0)


def _cancel_before_the_call(machine: Machine) -> None:
    machine.call_plain("legacy", given_up_first=True)
    machine.finish(0)
    machine.finish(0)


DEFECTS = {
    "the slot of a task that ends": Defect("a slot is leaked", [(CallerUsage, "release", left_out)], _end_a_task),
    "the idempotency key": Defect(
        "a call with a key has two tasks|a call runs twice",
        [(DynamoDbTaskStore, "claim_key", left_out), (DynamoDbTaskStore, "load_key_claim", left_out)],
        _call_twice_with_one_key,
    ),
    "the look at a task that was cancelled before its start": Defect(
        _STILL_RUNNING,
        [(StepFunctionsWorkflows, "stop", _nothing_is_about_to_begin)],
        _cancel_before_the_start,
        is_too_rare=True,
    ),
    "the cancellation that comes before its call": Defect(
        "the execution of a cancelled request is still running",
        [(DynamoDbTaskStore, "begin_request", always)],
        _cancel_before_the_call,
        is_too_rare=True,
    ),
    "the next attempt": Defect(
        "told .*, where it may be", [(lifecycle, "next_attempt", _never_followed)], _fail_an_attempt
    ),
    "which attempt an end is of": Defect(
        f"told .*, where it may be|an end is lost|an attempt begins before|{_STILL_RUNNING}",
        [(Attempt, "is_of", _of_any_attempt)],
        _fail_once_and_hear_the_first_end_again,
        is_too_rare=True,
    ),
    "the look at an attempt that was cancelled before it began": Defect(
        _STILL_RUNNING,
        [(Runs, "stop_pending", _never_stopped)],
        _cancel_while_an_attempt_begins,
        is_too_rare=True,
    ),
    "the mark of a decided race, under which its losers are stopped": Defect(
        _STILL_RUNNING,
        [(lifecycle, "left_running", _no_arm_is_left)],
        _die_before_the_loser_is_stopped,
        is_too_rare=True,
    ),
    "the condition that a task is as it was read": Defect(
        "a final status changes|told .*, where it may be|a question is not shown|an answered question is asked",
        [(task_store, "_IS_AS_LOADED", "(attribute_exists(version) OR version = :version)")],
        _end_two_arms_at_once,
    ),
    "the name of the task that follows, in the ended one": Defect(
        "nobody will stop the execution of an ended task|a task is continued twice",
        [(FollowUps, "_chosen_id", _always_another)],
        _redrive_twice,
        is_too_rare=True,
    ),
    "whose a task is": Defect(
        "a caller sees a task of another",
        [(DynamoDbTaskStore, "load", _of_anybody), (Recorder, "visible", _unchecked)],
        _look_at_a_foreign_task,
    ),
    **{name: one for part in parts("defects") for name, one in part.DEFECTS.items()},
}


@pytest.fixture(params=DEFECTS)
def defect(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Defect:
    """Leave out one part of the product."""
    left_out = DEFECTS[request.param]
    for owner, name, replacement in left_out.patches:
        monkeypatch.setattr(owner, name, replacement)
    return left_out


def run(moves: Callable[[Machine], None]) -> None:
    """Make the scripted moves, and let everything come to rest."""
    machine = Machine()
    try:
        moves(machine)
    finally:
        machine.teardown()


def test_a_run_with_a_planted_defect_fails(defect: Defect) -> None:
    with pytest.raises(AssertionError, match=defect.found_as):
        run(defect.shown_by)


@pytest.mark.parametrize(
    "moves",
    [
        *(moves for part in parts("defects") for moves in part.RUNS),
        *(pytest.param(one.shown_by, marks=pytest.mark.long) for one in DEFECTS.values()),
    ],
    ids=lambda moves: moves.__name__,
)
def test_the_same_run_passes_without_the_defect(moves: Callable[[Machine], None]) -> None:
    run(moves)


@pytest.mark.long
@pytest.mark.parametrize("defect", [name for name, one in DEFECTS.items() if not one.is_too_rare], indirect=True)
def test_the_random_search_finds_the_defect(defect: Defect) -> None:
    with pytest.raises(AssertionError, match=defect.found_as):
        explore(MOST_STEPS, name="Finding")
