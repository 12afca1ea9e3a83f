"""Not more than so many executions of a tool run at once; the others wait in line, and each gets its turn."""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

import pytest
from msgspec.structs import replace

from stepwire.background.execution_events import ExecutionStatusChange
from stepwire.background.sweep import INTERVAL, Sweep
from stepwire.catalog.tools import Tool
from stepwire.engine.calls import ToolCall
from stepwire.errors import LimitReached, StartRefused, StartRefusedForNow, StartUnclear, StoreBusy
from stepwire.extras.lines.limits import Concurrency, Rules, Starts
from stepwire.extras.lines.rules import MEND_PAUSE, MOST_COUNTED, Line, Ticket, called, freed
from stepwire.json_text import write
from stepwire.principal import Caller, Principal
from stepwire.tasks.ids import task_key_from_execution
from stepwire.tasks.limiter import Limits
from stepwire.tasks.outcomes import Running
from stepwire.tasks.runs import Pending, Retry, RunState
from stepwire.tasks.task import Cancelled, Failed, Origin, Task, Working
from tests.fakes import LARGE, nothing
from tests.kits import ALICE, ARGUMENTS, BOB, BOTH_MODES, OPTIONAL, OUTPUT, World, keeping
from tests.races import WON, racing

RULES: Final = Rules(most=1)
CAROL: Final = Principal("c" * 32)


def limited(rules: Rules = RULES, tool: Tool = OPTIONAL, per: str = "") -> Tool:
    """Return a tool with the limit of the one tool, or with a share of it."""
    return keeping(tool, lines=Concurrency(OPTIONAL.name, rules, per))


def call(world: World, tool: Tool | None = None, owner: Principal = ALICE) -> Task:
    """Call a tool with a limit."""
    tool = tool or limited()
    own = tool.kept_by("lines", Concurrency)
    assert own is not None
    line = own.line(own, ARGUMENTS, Caller(owner))
    return world.calls.call(ToolCall(owner, tool, ARGUMENTS, None, Origin(BOTH_MODES), line=line))


def running(world: World) -> list[str]:
    """Return the ids of the tasks whose executions run."""
    keys = (task_key_from_execution(one.name) for one in world.workflows.running())
    return [key.task_id for key in keys if key]


def end(world: World, task: Task) -> None:
    """End the execution of a task, and deliver its status change."""
    world.succeed(task.task_id, OUTPUT)


def message(world: World, task: Task) -> str | None:
    return world.stored(task).status.message


@pytest.fixture
def world() -> World:
    return World()


def test_a_call_within_the_limit_starts_at_once(world: World) -> None:
    task = call(world)

    assert running(world) == [task.task_id]
    assert world.stored(task).status == Working()


def test_a_call_above_the_limit_is_a_task_that_says_where_it_is_in_line(world: World) -> None:
    call(world)

    tasks = [call(world) for _ in range(3)]

    assert len(running(world)) == 1
    assert [message(world, one) for one in tasks] == ["Next in line.", "2nd in line.", "3rd in line."]


def test_the_end_of_an_execution_starts_the_next_one_at_once(world: World) -> None:
    first, second, third = call(world), call(world), call(world)

    end(world, first)

    assert running(world) == [second.task_id]
    assert world.stored(second).status == Working()
    assert message(world, third) == "2nd in line."  # as of its last look
    world.clock.time += world.intervals.repair
    assert world.operations.get(ALICE, third.task_id).status.message == "Next in line; about 60 seconds."


def test_the_estimate_is_what_executions_took_lately(world: World) -> None:
    tool = limited(Rules(most=2))
    first, _ = call(world, tool), call(world, tool)
    world.clock.advance(minutes=8)
    end(world, first)
    call(world, tool)

    third = call(world, tool)
    fourth = call(world, tool)

    assert message(world, third) == "Next in line; about 4 minutes."
    assert message(world, fourth) == "2nd in line; about 8 minutes."


def test_a_place_far_behind_is_estimated_from_its_round_and_few_places_are_read() -> None:
    world = World(limits=Limits(active=200, per_minute=6_000))
    call(world)
    flood = [call(world) for _ in range(3 * MOST_COUNTED)]

    last = call(world, owner=BOB)

    assert message(world, flood[MOST_COUNTED - 1]) == f"{MOST_COUNTED}th in line."
    assert message(world, flood[-1]) == f"{3 * MOST_COUNTED}th in line."
    assert message(world, last) == "2nd in line.", "of the first round"


def test_callers_take_turns(world: World) -> None:
    begun = call(world)
    flood = [call(world) for _ in range(5)]

    other = call(world, owner=BOB)
    order = list[str]()
    for _ in range(7):
        (now,) = running(world)
        order.append(now)
        end(world, next(one for one in (begun, *flood, other) if one.task_id == now))

    assert order == [one.task_id for one in (begun, flood[0], other, *flood[1:])]


def test_each_value_and_each_caller_has_a_line_of_its_own(world: World) -> None:
    per_caller = limited(per="caller")

    tasks = [call(world, per_caller), call(world, per_caller, BOB), call(world, per_caller)]

    assert running(world) == [one.task_id for one in tasks[:2]]


def test_a_full_line_refuses_a_call_with_the_time_to_call_again(world: World) -> None:
    tool = limited(Rules(most=1, waiting=1))
    first, _ = call(world, tool), call(world, tool)

    with pytest.raises(LimitReached, match=r"line of this tool is full: 1 calls wait, of at most 1\.") as refused:
        call(world, tool)

    assert refused.value.data == {"limit": "waiting calls", "retryAfterMs": 10_000}
    assert len(world.store.tasks) == 2
    assert len(world.store.usage[ALICE].active) == 2
    end(world, first)
    call(world, tool)


def test_a_caller_who_waits_leaves_as_many_places_to_others(world: World) -> None:
    tool = limited(Rules(most=1, waiting=4))
    for caller in (ALICE, ALICE, ALICE, BOB):
        call(world, tool, caller)

    with pytest.raises(LimitReached, match="for other callers; calls of yours that wait: 2"):
        call(world, tool)
    with pytest.raises(LimitReached, match="for other callers; calls of yours that wait: 1"):
        call(world, tool, BOB)
    call(world, tool, CAROL)
    with pytest.raises(LimitReached, match="line of this tool is full: 4 calls wait"):
        call(world, tool, CAROL)


def test_a_caller_fills_a_line_of_its_own(world: World) -> None:
    tool = limited(Rules(most=1, waiting=3), per="caller")
    for _ in range(4):
        call(world, tool)

    with pytest.raises(LimitReached, match="full: 3 calls wait, of at most 3"):
        call(world, tool)


def test_many_calls_of_one_caller_do_not_make_the_wait_of_another_too_long(world: World) -> None:
    tool = limited(Rules(most=1, longest=timedelta(minutes=10)))
    first = call(world, tool)
    for _ in range(20):
        call(world, tool)
    world.clock.advance(minutes=2)
    end(world, first)

    with pytest.raises(
        LimitReached, match=r"wait 40 minutes.* 19 others would be before it\. Call again in 30 minutes"
    ):
        call(world, tool)
    assert message(world, call(world, tool, BOB)) == "2nd in line; about 4 minutes."


def test_a_call_that_would_wait_too_long_is_refused(world: World) -> None:
    tool = limited(Rules(most=1, longest=timedelta(minutes=10)))
    first = call(world, tool)
    world.clock.advance(minutes=8)
    end(world, first)
    call(world, tool)
    call(world, tool)

    with pytest.raises(LimitReached, match="would have to wait 16 minutes, and may wait at most 10 minutes") as refused:
        call(world, tool)

    assert refused.value.data["retryAfterMs"] == 6 * 60_000


def test_a_task_that_waits_can_be_cancelled_and_never_starts(world: World) -> None:
    first, second, third = call(world), call(world), call(world)

    cancelled = world.operations.cancel(ALICE, second.task_id)
    end(world, first)

    assert isinstance(cancelled.status, Cancelled)
    assert running(world) == [third.task_id]
    assert not world.workflows.stops


def test_the_cancellation_of_the_running_task_starts_the_next_one(world: World) -> None:
    first, second = call(world), call(world)

    world.operations.cancel(ALICE, first.task_id)

    assert running(world) == [second.task_id]


def test_a_task_that_expires_in_line_leaves_it(world: World) -> None:
    first, second = call(world), call(world)
    world.clock.time = second.expires_at

    world.expirations.record(world.stored(second))
    world.store.tasks.pop(second.key)
    end(world, first)

    assert running(world) == []
    assert line_of(world, second).waiting == 0


def test_a_task_that_has_expired_is_passed_over(world: World) -> None:
    """DynamoDB deletes late, and the sweep has not come yet."""
    first = call(world, replace(limited(), ttl=timedelta(hours=2)))
    call(world)
    third = call(world, replace(limited(), ttl=timedelta(hours=2)))
    world.clock.advance(hours=1)

    end(world, first)

    assert running(world) == [third.task_id]


def test_a_failed_attempt_gives_its_turn_to_the_next_and_comes_back_to_the_front(world: World) -> None:
    retried = limited(tool=replace(OPTIONAL, retry=Retry(3, ("States.ALL",), delay=timedelta(minutes=1))))
    first, second, third = call(world, retried), call(world), call(world)

    world.fail(first.task_id, "Busy")
    between = running(world)
    world.wake()
    waits = message(world, first)
    end(world, second)

    assert between == [second.task_id]
    assert waits == "Next in line; about 60 seconds.", "as long as the second runs already"
    assert running(world) == [first.task_id]
    assert message(world, first) == "Attempt 2 of 3 after Busy."
    end(world, first)
    assert running(world) == [third.task_id]


def test_each_arm_of_a_race_needs_a_turn(world: World) -> None:
    tool = limited(Rules(most=2), tool=racing(3))
    task = call(world, tool)

    assert len(running(world)) == 2
    assert [run.pending for run in world.stored(task).runs] == [None, None, Pending.TURN]
    following = call(world)
    world.end_arm(task, "a", WON)
    assert following.task_id in running(world)
    assert line_of(world, task).held == 1


def test_a_turn_whose_start_is_refused_goes_to_the_next(world: World) -> None:
    first, second, third = call(world), call(world), call(world)
    world.workflows.start_fault = StartRefused("the state machine does not exist")

    end(world, first)
    world.workflows.start_fault = None
    world.wake()

    assert "could not be started" in (message(world, second) or "")
    assert running(world) == [third.task_id]


def test_a_turn_whose_start_is_refused_goes_to_the_next_arm_of_the_same_race(world: World) -> None:
    first, race = call(world), call(world, limited(tool=racing(2)))
    world.workflows.start_fault = StartRefused("the state machine does not exist")

    end(world, first)
    world.workflows.start_fault = None
    world.wake()

    assert world.stored(race).runs[0].state is RunState.REFUSED
    assert world.workflows.running() == (world.stored(race).execution_of(1),)


def test_a_turn_of_a_task_that_expires_while_it_begins_goes_to_the_next(world: World) -> None:
    soon = timedelta(minutes=5)
    first, second, third = call(world), call(world, replace(limited(), ttl=soon)), call(world)
    world.clock.time += timedelta(minutes=4)

    def expire() -> None:
        world.workflows.on_start = nothing
        world.clock.time += soon

    world.workflows.on_start = expire
    end(world, first)

    assert running(world) == [third.task_id]
    assert [one.execution for one in world.workflows.stops] == [second.execution]


def test_a_turn_of_a_task_that_is_removed_before_it_begins_goes_to_the_next(world: World) -> None:
    first, second, third = call(world), call(world), call(world)

    before_the_next_begins(world, lambda: world.store.tasks.pop(second.key))
    end(world, first)

    assert running(world) == [third.task_id]


def test_a_turn_of_a_task_that_ends_before_it_begins_is_kept_while_another_process_may_start_it(world: World) -> None:
    first, second, third = call(world), call(world), call(world)

    def begin_and_cancel() -> None:
        world.workflows.start_fault = StartUnclear()
        world.engine.runs.wake(second.key)
        world.workflows.start_fault = None
        world.operations.cancel(ALICE, second.task_id)

    before_the_next_begins(world, begin_and_cancel)
    end(world, first)
    before = running(world)
    world.clock.time += world.intervals.repair
    world.operations.get(ALICE, second.task_id)

    assert before == []
    assert running(world) == [third.task_id]


def before_the_next_begins(world: World, act: Callable[[], object]) -> None:
    """Do something after the next turn was handed over, before the task that has got it is saved."""
    world.lines.before_change = lambda: setattr(world.store, "before_save", act)


def test_a_call_whose_start_is_refused_fails_and_gives_its_turn_back(world: World) -> None:
    world.workflows.start_fault = StartRefused("the state machine does not exist")

    refused = call(world)
    world.workflows.start_fault = None

    assert isinstance(refused.status, Failed)
    following = call(world)
    assert running(world) == [following.task_id]


def test_a_start_that_is_throttled_keeps_its_turn(world: World) -> None:
    first, second, _ = call(world), call(world), call(world)
    world.workflows.start_fault = StartRefusedForNow("throttled")

    end(world, first)
    world.workflows.start_fault = None
    world.wake()

    assert running(world) == [second.task_id]


def test_a_rate_starts_no_more_in_any_span_and_wakes_the_next_in_time(world: World) -> None:
    tool = limited(Rules(starts=Starts(2, timedelta(minutes=1))))
    first = [call(world, tool)]
    world.clock.advance(seconds=50)
    first.append(call(world, tool))
    waiting = [call(world, tool) for _ in range(3)]
    texts = [message(world, one) for one in waiting]

    begun = [len(running(world))]
    while world.wake_ups.scheduled:
        world.wake()
        begun.append(len(running(world)))

    assert texts == [
        "Next in line; about 10 seconds.",
        "2nd in line; about 40 seconds.",
        "3rd in line; about 70 seconds.",
    ]
    assert begun == [2, 3, 4, 5]
    started = line_of(world, first[0]).started
    assert started == (first[0].created_at + timedelta(seconds=110), first[0].created_at + timedelta(seconds=120))


def test_a_lowered_limit_lets_nobody_begin_above_it(world: World) -> None:
    three, one = limited(Rules(most=3)), limited(Rules(most=1))
    tasks = [call(world, three) for _ in range(4)]

    late = call(world, one)
    end(world, tasks[0])
    end(world, tasks[1])
    at_the_limit = running(world)
    end(world, tasks[2])

    assert at_the_limit == [tasks[2].task_id]
    assert running(world) == [tasks[3].task_id]
    end(world, tasks[3])
    assert running(world) == [late.task_id]


def test_a_raised_limit_lets_the_first_in_line_begin_with_the_next_call(world: World) -> None:
    tasks = [call(world) for _ in range(3)]

    last = call(world, limited(Rules(most=3)))

    assert running(world) == [one.task_id for one in tasks]
    assert message(world, last) == "Next in line."


def test_a_raised_limit_holds_although_the_line_is_too_full_for_the_call_that_knows_it(world: World) -> None:
    narrow, wide = limited(Rules(most=1, waiting=1)), limited(Rules(most=2, waiting=1))
    tasks = [call(world, narrow) for _ in range(2)]

    with pytest.raises(LimitReached, match="line of this tool is full"):
        call(world, wide)
    world.wake()

    assert running(world) == [one.task_id for one in tasks]


def test_an_operators_redrive_waits_for_its_turn(world: World) -> None:
    first, second = call(world), call(world)
    world.fail(first.task_id)

    made = world.engine.follow_ups.redrive(first.key)

    assert running(world) == [second.task_id]
    assert not made.has_begun
    end(world, second)
    assert len(world.workflows.redrives) == 1


def test_an_operators_redrive_of_a_retried_task_overtakes_nobody(world: World) -> None:
    retried = limited(tool=replace(OPTIONAL, retry=Retry(2, ("States.ALL",), delay=timedelta())))
    first = call(world, retried)
    for _ in range(2):
        world.fail(first.task_id)
    second, third = call(world), call(world)

    new = world.engine.follow_ups.redrive(first.key).task
    end(world, second)

    assert running(world) == [third.task_id]
    end(world, third)
    assert message(world, new) == "Attempt 2 of 2 after Some.Error."


def test_whoever_waits_for_the_rate_is_woken_although_the_one_who_was_to_be_woken_for_all_is_cancelled(
    world: World,
) -> None:
    tool = limited(Rules(starts=Starts(1, timedelta(minutes=1))))
    first, second, third = call(world, tool), call(world, tool), call(world, tool)

    world.operations.cancel(ALICE, second.task_id)
    world.wake()

    assert running(world) == [first.task_id, third.task_id]


def test_whoever_waits_for_the_rate_is_woken_although_the_one_who_was_to_be_woken_for_all_has_expired(
    world: World,
) -> None:
    tool = limited(Rules(starts=Starts(1, timedelta(minutes=61))))
    first, _, third = call(world, tool), call(world, tool), call(world, replace(tool, ttl=timedelta(hours=2)))

    while world.wake_ups.scheduled:
        world.wake()

    assert running(world) == [first.task_id, third.task_id]


def test_whoever_waits_for_the_rate_is_woken_although_the_one_who_was_to_be_woken_for_all_was_removed(
    world: World,
) -> None:
    tool = limited(Rules(starts=Starts(1, timedelta(minutes=10))))
    first, second, third = call(world, tool), call(world, replace(tool, ttl=timedelta(minutes=5))), call(world, tool)
    world.clock.time = second.expires_at

    world.expirations.record(world.stored(second))
    world.store.tasks.pop(second.key)
    while world.wake_ups.scheduled:
        world.wake()

    assert running(world) == [first.task_id, third.task_id]


def line_of(world: World, task: Task) -> Line:
    """Return the line of a task as it is now."""
    line = world.lines.line(task.line.line) if task.line else None
    assert line is not None
    return line


# ----------------------------------------------------------------------------------------- what processes leave undone


def lost_end(world: World) -> list[Task]:
    """Return three tasks: the first has ended, and the process that recorded it died before it gave the turn back."""
    tasks = [call(world) for _ in range(3)]
    world.lines.is_available = False
    end(world, tasks[0])
    world.lines.is_available = True
    assert [type(one) for one in world.troubles] == [StoreBusy]
    return tasks


def test_a_turn_that_was_not_given_back_is_found_by_a_reader_of_a_task_that_waits(world: World) -> None:
    _, second, third = lost_end(world)
    world.clock.time += world.intervals.repair

    before = running(world)
    world.operations.get(ALICE, third.task_id)

    assert before == []
    assert running(world) == [second.task_id]


def test_a_turn_that_was_not_given_back_is_found_by_the_sweep(world: World) -> None:
    _, second, _ = lost_end(world)
    sweep = Sweep(world.sweeping(INTERVAL))
    world.clock.time += INTERVAL

    sweep.run()

    assert running(world) == [second.task_id]


def test_a_run_that_was_handed_a_turn_and_has_not_begun_begins_with_the_next_look(world: World) -> None:
    tasks, now = lost_end(world), world.clock.now()
    line, lines, key = line_of(world, tasks[0]), world.lines, tasks[0].line.line if tasks[0].line else ""
    ended = lines.see(key, Ticket(ALICE, tasks[0].task_id)).turn
    assert ended is not None
    handed = freed(line, ended, now)
    handed = handed.then(called(handed.line, lines.first(key)[0], now))
    assert lines.change(key, line, handed, now)

    world.clock.time += world.intervals.repair
    world.operations.get(ALICE, tasks[2].task_id)

    assert running(world) == [tasks[1].task_id]


def test_a_call_whose_process_died_before_it_asked_for_a_turn_asks_at_the_next_look(world: World) -> None:
    world.lines.is_available = False
    task = call(world)
    world.lines.is_available = True
    before = running(world)

    world.wake()

    assert [type(one) for one in world.troubles] == [StoreBusy]
    assert before == []
    assert running(world) == [task.task_id]


def test_a_line_is_repaired_at_most_once_a_minute_however_many_read(world: World) -> None:
    call(world)
    waiting = [call(world) for _ in range(10)]
    world.clock.time += MEND_PAUSE
    world.lines.calls.clear()

    for one in waiting:
        world.operations.get(ALICE, one.task_id)

    assert world.lines.calls.count("turns") == 1


def test_a_turn_of_a_task_that_is_gone_is_given_to_the_next(world: World) -> None:
    """Not before its execution is over: whoever cleans up after the task stops it."""
    first, second = call(world), call(world)
    world.store.tasks.pop(first.key)
    world.clock.time += MEND_PAUSE

    world.operations.get(ALICE, second.task_id)
    while_it_runs = running(world)
    world.workflows.abort(world.workflows.execution_of(first.task_id))
    world.clock.time += MEND_PAUSE
    world.operations.get(ALICE, second.task_id)

    assert while_it_runs == [first.task_id]
    assert running(world) == [second.task_id]


def test_changes_at_the_same_moment_are_decided_anew(world: World) -> None:
    first, second, third = call(world), call(world), call(world)

    def cancel_meanwhile() -> None:
        world.operations.cancel(ALICE, second.task_id)

    world.lines.before_change = cancel_meanwhile
    end(world, first)

    assert running(world) == [third.task_id]
    assert (line_of(world, third).held, line_of(world, third).waiting) == (1, 0)


def test_a_read_that_meets_a_change_is_repeated(world: World) -> None:
    """DynamoDB refuses to read items together while a transaction writes them."""
    first, second = call(world), call(world)

    world.lines.before_see = refuse
    end(world, first)

    assert running(world) == [second.task_id]


def refuse() -> None:
    raise StoreBusy


def test_a_turn_that_is_given_back_late_is_not_that_of_the_next_attempt(world: World) -> None:
    at_once = limited(tool=replace(OPTIONAL, retry=Retry(3, ("States.ALL",), delay=timedelta())))
    first, second = call(world, at_once), call(world)
    world.clock.time += MEND_PAUSE

    world.lines.before_see = lambda: world.operations.get(ALICE, second.task_id)  # a look at the line
    world.fail(first.task_id, "Busy")

    assert running(world) == [second.task_id]
    assert message(world, first) == "Next in line."
    end(world, second)
    assert running(world) == [first.task_id]


def test_a_turn_that_is_given_back_late_is_not_the_place_of_the_next_attempt(world: World) -> None:
    retried = limited(tool=replace(OPTIONAL, retry=Retry(3, ("States.ALL",), delay=timedelta(minutes=1))))
    first, second, third = call(world, retried), call(world), call(world)

    def wake_first() -> None:
        world.clock.advance(minutes=1)
        world.engine.runs.wake(first.key)

    world.lines.before_see = wake_first
    world.fail(first.task_id, "Busy")

    assert running(world) == [second.task_id]
    assert line_of(world, first).waiting == 2
    end(world, second)
    assert running(world) == [first.task_id]
    world.operations.cancel(ALICE, first.task_id)
    assert running(world) == [third.task_id]


def test_a_retried_task_that_is_cancelled_in_line_leaves_it(world: World) -> None:
    retried = limited(tool=replace(OPTIONAL, retry=Retry(3, ("States.ALL",), delay=timedelta(minutes=1))))
    first, second = call(world, retried), call(world)
    world.fail(first.task_id, "Busy")
    world.wake()

    world.operations.cancel(ALICE, first.task_id)

    assert running(world) == [second.task_id]
    assert line_of(world, first).waiting == 0


def test_a_turn_of_an_attempt_that_is_over_goes_to_the_next_in_line(world: World) -> None:
    retried = limited(tool=replace(OPTIONAL, retry=Retry(3, ("States.ALL",), delay=timedelta(minutes=1))))
    first, second = call(world, retried), call(world)
    world.lines.is_available = False
    world.fail(first.task_id, "Busy")
    world.lines.is_available = True

    world.wake()

    assert running(world) == [second.task_id]
    assert line_of(world, first).held == 1
    end(world, second)
    assert running(world) == [first.task_id]


def test_an_execution_that_cannot_be_described_keeps_no_other_turn(world: World) -> None:
    two = limited(Rules(most=2))
    gone, ended, waits = call(world, two), call(world, two), call(world, two)
    world.store.tasks.pop(gone.key)
    world.lines.is_available = False
    end(world, ended)
    world.lines.is_available = True
    world.workflows.throttled = {"describe"}
    world.clock.time += MEND_PAUSE

    world.engine.runs.sweep_lines()

    assert waits.task_id in running(world)
    assert gone.task_id in running(world)


def line_of_key(task: Task) -> str:
    assert task.line is not None
    return task.line.line


def test_a_run_whose_turn_has_come_and_that_could_not_begin_is_woken(world: World) -> None:
    large = replace(OPTIONAL, output_schema=write({"description": "x" * LARGE}))
    first, second = call(world), call(world, limited(tool=large))
    world.store.serves_parts = False
    end(world, first)
    world.store.serves_parts = True
    before = running(world)

    world.wake()

    assert [type(one) for one in world.troubles] == [StoreBusy]
    assert before == []
    assert running(world) == [second.task_id]


def test_an_execution_that_is_redriven_in_the_console_counts_although_its_first_event_met_a_fault(
    world: World,
) -> None:
    first, second, third = call(world), call(world), call(world)
    world.fail(first.task_id)
    execution = world.workflows.execution_of(first.task_id)
    world.workflows.redrive(execution, "in the console")
    world.lines.is_available = False
    with pytest.raises(StoreBusy):
        world.events.record(ExecutionStatusChange(execution, Running(1)))
    world.lines.is_available = True

    world.events.record(ExecutionStatusChange(execution, Running(1)))
    end(world, second)

    assert third.task_id not in running(world)


def test_a_redrive_that_waits_in_line_counts_when_its_execution_is_redriven_in_the_console(world: World) -> None:
    first, second, third = call(world), call(world), call(world)
    world.fail(first.task_id)
    world.engine.follow_ups.redrive(first.key)
    execution = world.workflows.execution_of(first.task_id)

    world.workflows.redrive(execution, "in the console")
    world.events.record(ExecutionStatusChange(execution, Running(1)))
    end(world, second)
    between = running(world)
    end(world, first)

    assert third.task_id not in between
    assert running(world) == [third.task_id]


def test_an_execution_that_is_redriven_in_the_console_counts_although_the_limit_is_reached(world: World) -> None:
    first, second, third = call(world), call(world), call(world)
    world.fail(first.task_id)
    execution = world.workflows.execution_of(first.task_id)

    world.workflows.redrive(execution, "in the console")
    world.events.record(ExecutionStatusChange(execution, Running(1)))

    assert line_of(world, second).held == 2
    end(world, second)
    assert third.task_id not in running(world)


def test_the_sweep_says_how_long_the_first_in_line_has_waited(world: World) -> None:
    sweep = Sweep(world.sweeping(INTERVAL))
    call(world)
    before = sweep.run().longest_wait

    call(world)
    world.clock.time += INTERVAL

    assert before == timedelta()
    assert sweep.run().longest_wait == INTERVAL


def test_a_line_that_cannot_be_mended_keeps_no_other_from_it(world: World) -> None:
    per_caller, sweep = limited(per="caller"), Sweep(world.sweeping(INTERVAL))
    ended, waits = call(world, per_caller, BOB), call(world, per_caller, BOB)
    broken = call(world, per_caller).line
    call(world, per_caller)
    world.lines.is_available = False
    end(world, ended)
    world.lines.is_available = True
    world.lines.broken = "" if broken is None else broken.line
    world.clock.time += INTERVAL

    sweep.run()

    assert waits.task_id in running(world)
