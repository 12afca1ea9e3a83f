"""The state machine: any moves, in any order, and in the end everything comes to rest."""

import json
import sys
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.model.clients import ClientMoves
from tests.model.moves import next_moves
from tests.model.reference import End
from tests.model.rest import Rest
from tests.model.run import News, key_of
from tests.model.stack import SWEEP
from tests.model.world import WorldMoves

LEFT_OUT: Final = ("die", "finish", "lose", "pass_time", "confirm", "end", "ask", "cancel")
"""Moves without which a run can still come to something."""


class Machine(ClientMoves, WorldMoves, RuleBasedStateMachine):
    """One run of everything."""

    @initialize(left_out=st.frozensets(st.sampled_from(LEFT_OUT), max_size=2))
    def leave_out(self, left_out: frozenset[str]) -> None:
        """Make some moves in other runs only, so that the rest come more often here."""
        self.left_out = left_out

    @rule(chosen=st.runner().flatmap(next_moves))
    def make(self, chosen: tuple[str, dict[str, Any]]) -> None:
        """Make a move."""
        name, arguments = chosen
        getattr(self, name)(**arguments)

    def teardown(self) -> None:
        """Let all come to rest, and hold the account against what is promised; after a failure, only clean up."""
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
        rest.check_ends()
        rest.check_slots(anyone_died=self.anyone_died)
        self._bring(late)

    def _let_time_mend(self) -> None:
        """Let the sweep come, for nobody asks; and let DynamoDB remove what has expired meanwhile.

        The documented bound is two intervals, for most of one may be over when a task begins to need the sweep. Here
        none is.
        """
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
        """End all workflows, and give the news that nobody brings."""
        for number, arn in enumerate(self.world.running()):
            words = f"at last {number:05}"
            self.reference.tasks[key_of(arn).task_id].ends.add(End("output", words))
            self.world.end(arn, "SUCCEEDED", {"output": json.dumps({"said": words})})
        before = len(self.news)
        self.look()
        return self.news[before:]

    def _bring(self, late: list[News]) -> None:
        before = self.stack.tasks()
        for one in late:
            one.bring()
        assert self.stack.tasks() == before, "what comes late changes a task"
