"""The state machine: any moves in any order, until everything comes to rest."""

import json
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from stepwire.tasks.task import Task
from tests.model.clients import ClientMoves
from tests.model.ends import End, arm_of
from tests.model.moves import MOST_UNDER_WAY, few, has_questions, has_room, has_room_for_two, move, moves, next_moves
from tests.model.operators import OperatorMoves
from tests.model.rest import Rest
from tests.model.run import News, Run, key_of
from tests.model.stack import DELAY, IN_LINE, MOST_AT_ONCE, RACED, SWEEP
from tests.model.world import WorldMoves

LEFT_OUT: Final = ("die", "finish", "lose", "pass_time", "confirm", "end", "ask", "cancel")
"""Moves that a run can do without."""


def waits(task: Task) -> bool:
    """Tell whether the next attempt of a task, or of an arm of its race, has perhaps not begun."""
    return task.is_retried and not task.has_ended


def arms_running(run: Run) -> list[tuple[str, str]]:
    """Return pairs of running arms of one race, the newest race first."""
    arms = [arn for arn in reversed(run.world.running()) if arm_of(arn)]
    return [pair for pair in pairwise(arms) if key_of(pair[0]) == key_of(pair[1])]


class Machine(ClientMoves, WorldMoves, OperatorMoves, RuleBasedStateMachine):
    """One run of the model."""

    @initialize(left_out=st.frozensets(st.sampled_from(LEFT_OUT), max_size=2))
    def leave_out(self, left_out: frozenset[str]) -> None:
        """Leave out some moves in this run, so that the others are more frequent."""
        self.left_out = left_out

    @rule(chosen=st.runner().flatmap(next_moves))
    def make(self, chosen: tuple[str, dict[str, Any]]) -> None:
        """Make a move."""
        name, arguments = chosen
        moves()[name].make(self, **arguments)

    # Combinations of moves that random moves reach too rarely.

    @move(4, has_room, which=few, limited=st.booleans(), in_legacy=st.booleans())
    def have_a_question(self, which: int, limited: bool, in_legacy: bool) -> None:
        """Let a workflow ask, and its caller read the question."""
        if not self.world.running():
            self.undisturbed(lambda: self.call("modern", "optional", None, 0))
        if self.world.running():
            self.undisturbed(lambda: self.ask(which, limited))
            self.undisturbed(lambda: self.see(0, in_legacy))

    @move(2, has_room, in_legacy=st.booleans())
    def have_a_confirmation(self, in_legacy: bool) -> None:
        """Call a tool that needs a confirmation."""
        self.undisturbed(lambda: self.call("legacy" if in_legacy else "modern", "confirmed", None, 0))

    @move(2, lambda run: IN_LINE and has_room(run), tool=st.sampled_from(IN_LINE))
    def have_a_line(self, tool: str) -> None:
        """Call a tool with a limit as often as it may run at once, and once more."""
        for _ in range(MOST_AT_ONCE + 1):
            self.undisturbed(lambda: self.call("modern", tool, None, 0))

    @move(2, lambda run: IN_LINE and has_room_for_two(run), tool=st.sampled_from(IN_LINE))
    def ask_for_turns_together(self, tool: str) -> None:
        """Let two callers ask for a turn at the same time."""
        self.call("modern", tool, None, 0)
        self.call("modern of bob", tool, None, 0)

    def undisturbed(self, make: Callable[[], None]) -> None:
        """Make a move that begins a handler, and let that run to its end."""
        before = len(self.under_way)
        make()
        if len(self.under_way) > before:
            self.finish(before)

    @move(
        3,
        lambda run: len(run.under_way) + 2 <= MOST_UNDER_WAY and run.world.running(),
        which=few,
        how=st.sampled_from(["well", "badly"]),
    )
    def race(self, which: int, how: str) -> None:
        """Let a workflow end, while its status change and a cancellation are processed concurrently."""
        task_id = key_of(self._execution(which)).task_id
        self.end(which, how)
        self.deliver(0, comes_again=False)
        self._cancel(f"modern{self._whose(task_id)}", task_id)

    @move(3, has_room_for_two, tool=st.sampled_from(RACED), how=st.sampled_from(["well", "well", "badly"]))
    def have_a_tie(self, tool: str, how: str) -> None:
        """Let two arms of a race end at the same time; call its tool if none races."""
        if not arms_running(self):
            self.undisturbed(lambda: self.call("modern", tool, None, 0))
        if arms_running(self):
            self.tie(0, how)

    @move(4, lambda run: has_room_for_two(run) and arms_running(run), which=few, how=st.sampled_from(["well", "badly"]))
    def tie(self, which: int, how: str) -> None:
        """Let two arms of a race end, while both status changes are processed concurrently."""
        self.counted["tie"] += 1
        pairs = arms_running(self)
        for arn, its_end in zip(pairs[which % len(pairs)], ("well", how), strict=True):
            self.end_one(arn, its_end)
        self.deliver(0, comes_again=False)
        self.deliver(1, comes_again=False)

    @move(
        3,
        lambda run: len(run.under_way) + 2 <= MOST_UNDER_WAY and has_questions(run),
        which=few,
        how=st.sampled_from(["right", "declines"]),
        in_legacy=st.booleans(),
    )
    def answer_twice(self, which: int, how: str, in_legacy: bool) -> None:
        """Send two concurrent answers to one question."""
        whose = self._whose(self._question(which).task_id)
        self.update(f"modern{whose}", which, "right", partial=True)
        if in_legacy:
            self.respond(f"legacy{whose}", which, how)
        else:
            self.update(f"modern{whose}", which, how, partial=True)

    def teardown(self) -> None:
        """Let everything come to rest, and check the account; after a failure, only clean up."""
        try:
            if sys.exc_info()[0] is None:
                self._come_to_rest()
        finally:
            for handler in self.under_way:
                if handler.outcome is None:
                    handler.abandon()
            self.stack.close()
            self.counted["runs"] += 1

    def _come_to_rest(self) -> None:
        rest = Rest(self.stack, self.reference)
        self.reference.step += 1
        self.world.refusal = None
        self.finish_all()
        self._let_time_mend()
        rest.check_work()
        late = [*self.news, *self._end_all()]
        self._let_time_mend()
        while self.in_turn():  # each end lets the next in line begin
            late += self._end_all()
            self._let_time_mend()
        rest.check_ends()
        rest.check_slots(anyone_died=self.anyone_died)
        self._bring(late)

    def _let_time_mend(self) -> None:
        """Run the sweep, because no client reads; and let DynamoDB remove what has expired meanwhile.

        The documented bound is two intervals, because most of one interval may have passed when a task begins to need
        the
        sweep. Here a full interval is left.
        """
        self._sweep_once()
        if any(waits(task) for task in self.stack.tasks().values()):
            # Of a failure that the sweep has found, the next attempt begins by the sweep after its delay.
            self.stack.pass_time(DELAY)
            self._sweep_once()
        if self._has_handed_a_turn():
            # What cleans up after an expired task has the next in line woken, and nobody delivers that any more.
            self._sweep_once()

    def _has_handed_a_turn(self) -> bool:
        """Tell whether a run has been handed a turn and has not begun."""
        now, tasks = self.reference.now, self.stack.tasks().values()
        begun = [task for task in tasks if task.line and not task.has_ended and task.due_runs(now)]
        waits_in_line = any(not task.has_ended and task.waiting_runs(now) for task in tasks)
        return waits_in_line and self.stack.line()[0] > len(begun)

    def _sweep_once(self) -> None:
        self.stack.pass_time(SWEEP)
        self.stack.sweep.run()
        self.look()
        for one in [one for one in self.news if not one.may_be_lost]:
            one.bring()
        for task in self.stack.remove_expired():
            self.stack.expirations.record(task)
        self.news = [one for one in self.news if one.may_be_lost]
        self.look()

    def _end_all(self) -> list[News]:
        """End all workflows, and drop their status changes."""
        for number, arn in enumerate(self.world.running()):
            words = f"at last {number:05}"
            self.may_end(arn, "SUCCEEDED", "", End("output", words))
            self.world.end(arn, "SUCCEEDED", {"output": json.dumps({"said": words})})
        before = len(self.news)
        self.look()
        return self.news[before:]

    def _bring(self, late: list[News]) -> None:
        before = self.stack.tasks()
        for one in late:
            one.bring()
        assert self.stack.tasks() == before, "a late event changes a task"
