"""The moves that are not those of clients: handlers continue or die, workflows, events, time and the sweep."""

import json
from collections.abc import Callable
from datetime import timedelta

from hypothesis import strategies as st

from stepwire.aws.step_functions import execution_of
from stepwire.background.execution_events import ExecutionProgress
from stepwire.background.input_requests import Question as Asking
from stepwire.tasks.task import Progress, Task
from tests.extras import parts
from tests.kits import FORM
from tests.model.ends import End
from tests.model.handlers import Done, Handler, Outcome
from tests.model.moves import few, has_handlers, has_news, has_running, has_tasks, move
from tests.model.reference import Question
from tests.model.run import LARGE, LARGEST, News, Run, key_of
from tests.model.stack import DECIDED, TTL, label_of
from tests.simulated.step_functions import Waiting


class WorldMoves(Run):
    """The moves that no client makes."""

    @move(14, has_handlers, which=few, lags=st.booleans())
    def go_on(self, which: int, lags: bool) -> None:
        """Let a handler make its next call; DescribeExecution may return an outdated status."""
        self.step("go on")
        self.world.lags = lags
        self._handler(which).go_on()
        self.world.lags = False
        self.look()

    @move(6, has_handlers, which=few)
    def finish(self, which: int) -> None:
        """Let a handler run to its end without interruption."""
        self.step("finish")
        self._handler(which).finish()
        self.look()

    @move(2, has_handlers, which=few)
    def die(self, which: int) -> None:
        """Let a handler's process die."""
        self.step("die")
        self.anyone_died = True
        self._handler(which).die()
        self.look()

    def _handler(self, which: int) -> Handler:
        return self.under_way[which % len(self.under_way)]

    # ------------------------------------------------------------------------------------------------------- workflows

    def _execution(self, which: int) -> str:
        running = self.world.running()
        return running[-1 - which % len(running)]

    @move(
        3,
        lambda run: run.world.running(),
        which=few,
        how=st.sampled_from(["well", "large", "badly", "protocol error", "timed out", "stopped"]),
    )
    def end(self, which: int, how: str) -> None:
        """Let a workflow end."""
        self.end_one(self._execution(which), how)

    def end_one(self, arn: str, how: str) -> None:
        """Let this execution end."""
        self.step("end")
        words = f"end {self.reference.step:05}"
        cause = json.dumps({"code": 1001, "message": words})
        more = LARGEST if self.reference.step % 2 else LARGE  # in the bucket, or in an item
        status, end, known = {
            "well": ("SUCCEEDED", {"output": json.dumps({"said": words})}, End("output", words)),
            "large": ("SUCCEEDED", {"output": json.dumps({"said": words, "more": more})}, End("output", words)),
            "badly": ("FAILED", {"error": "Some.Error", "cause": words}, End("error", words)),
            "protocol error": ("FAILED", {"error": "Stepwire.ProtocolError", "cause": cause}, End("protocol", words)),
            "timed out": ("TIMED_OUT", {}, End("error", "States.Timeout")),
            "stopped": ("ABORTED", {}, End("cancelled")),
        }[how]
        self.may_end(arn, status, end.get("error", ""), known)
        self.world.end(arn, status, end)
        self.look()

    @move(8, has_running, which=few, limited=st.booleans())
    def ask(self, which: int, limited: bool) -> None:
        """Let a state of a workflow ask something; if that fails, the state fails."""
        self.step("ask")
        arn, token = self._execution(which), f"token-{self.reference.step:05}"
        until = self.stack.clock.time + timedelta(seconds=60) if limited else None
        question = Question(token, self.worker(arn), f"May {token} go on", until)
        tool, owner = label_of(self.world.executions[arn].input).split(" ", maxsplit=1)[0], key_of(arn).owner
        if tool in DECIDED:
            (question.others,) = (
                part.others_of(tool, owner, self.stack.clock.time, until) for part in parts("deciding")
            )
        state = self.world.states[token] = Waiting(arn, until)
        self.reference.questions[token] = question
        form = {**FORM, "message": f"{question.message}?"}
        asking = Asking(execution_of(arn), token, "approval", form, 60 if limited else None)

        def ended(outcome: Outcome) -> None:
            if isinstance(outcome, Done):
                question.recorded = self.reference.step
                if question.others is not None:
                    question.others.number = self.stack.number_of(question.task_id, token)
            else:
                state.waits = False

        self.begin(f"ask {token}", lambda: self.stack.requests.record(asking), ended)

    @move(1, lambda run: run.world.running(), which=few)
    def report(self, which: int) -> None:
        """Let a workflow report progress."""
        self.step("report")
        step = self.reference.step
        made = ExecutionProgress(execution_of(self._execution(which)), Progress(step), f"Step {step}")
        self.news.append(News("progress", lambda: self.stack.events.record_progress(made)))

    @move(
        1,
        lambda run: any(one.before.startswith("StartExecution") for one in run.under_way),
        error=st.sampled_from(["ThrottlingException", "AccessDeniedException"]),
    )
    def refuse(self, error: str) -> None:
        """Let Step Functions refuse the next start."""
        self.step("refuse")
        self.world.refusal = error

    @move(1, lambda run: not run.world.is_old and run.reference.tasks)
    def age(self) -> None:
        """Let Step Functions refuse to redrive from now on."""
        self.step("age")
        self.world.is_old = True

    # --------------------------------------------------------------------------------------------------- news and time

    @move(6, has_news, which=st.integers(0, 7), comes_again=st.booleans())
    def deliver(self, which: int, comes_again: bool) -> None:
        """Deliver an event, in any order; an event whose handler failed is delivered again, and others may be."""
        self.step("deliver")
        one = self.news[-1 - which % len(self.news)]

        def ended(outcome: Outcome) -> None:
            if isinstance(outcome, Done):
                one.on_brought()
                self.news = [other for other in self.news if other is not one or comes_again]

        self.begin(one.name, one.bring, ended)

    @move(1, lambda run: any(one.may_be_lost for one in run.news), which=st.integers(0, 7))
    def lose(self, which: int) -> None:
        """Lose an event."""
        self.step("lose")
        losable = [one for one in self.news if one.may_be_lost]
        lost = losable[which % len(losable)]
        self.news = [one for one in self.news if one is not lost]

    @move(1, lambda run: run.reference.tasks, seconds=st.sampled_from([1, 1, 60, 60, 60, 900, 900, 86_400]))
    def pass_time(self, seconds: int) -> None:
        """Let time pass; no function runs for a whole minute."""
        self.step("time")
        if seconds >= 60:
            self.finish_all()
        self.stack.pass_time(timedelta(seconds=seconds))

    @move(4, lambda run: run.stack.clock.time >= run.removed_at + TTL)
    def remove_expired(self) -> None:
        """Remove expired items as DynamoDB's TTL does; its stream loses nothing."""
        self.step("remove")
        self.removed_at = self.stack.clock.time
        for task in self.stack.remove_expired():
            self.news.append(News("expiry", self._expiration(task), may_be_lost=False))

    def _expiration(self, task: Task) -> Callable[[], object]:
        return lambda: self.stack.expirations.record(task)

    @move(1, has_tasks)
    def sweep(self) -> None:
        """Run the sweep."""
        self.step("sweep")
        self.begin("sweep", self.stack.sweep.run, lambda _: None)
