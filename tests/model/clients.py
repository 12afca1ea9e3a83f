"""The moves of clients of both eras; the reference checks their answers."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from hypothesis import strategies as st

from stepwire.server.services import Patience
from tests.kits import ALICE, BOB
from tests.model.handlers import Done, Outcome, calls_made
from tests.model.moves import few, has_questions, has_room, has_room_for_two, has_tasks, move
from tests.model.reference import CANCELLED, DECLINED, Given, Operation, Question, Told
from tests.model.run import Confirmable, PlainCall, Run
from tests.model.seen import (
    error_of,
    is_missing,
    legacy_result,
    legacy_task,
    modern_details,
    modern_task,
    says_nothing,
)
from tests.model.stack import DECIDED, IN_LINE, MOST_ACTIVE, RACED, RETRIED
from tests.server.answers import Answer, Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient

WRONG: Final[Json] = {"action": "accept", "content": {"amount": 0}}
CONFIRMING: Final[Json] = {"action": "accept", "content": {}}
DECLINING: Final[Json] = {"action": "decline"}
SILENT: Final = "modern without questions"
modern_clients: Final = st.sampled_from(["modern", "modern", SILENT, "modern of bob"])
legacy_clients: Final = st.sampled_from(["legacy", "legacy", "legacy of bob"])
all_clients: Final = modern_clients | legacy_clients


class ClientMoves(Run):
    """The moves of clients."""

    def __init__(self) -> None:
        super().__init__()
        both = {**TASKS_CAPABILITY, **ASKING_CAPABILITY}
        self.modern = {
            "modern": ModernClient(self.stack, ALICE, both),
            SILENT: ModernClient(self.stack, ALICE),
            "modern of bob": ModernClient(self.stack, BOB, both),
        }
        self.legacy = {
            "legacy": LegacyClient.opened(self.stack, owner=ALICE, capabilities=ASKING_CAPABILITY),
            "legacy of bob": LegacyClient.opened(self.stack, owner=BOB, capabilities=ASKING_CAPABILITY),
        }

    def _client(self, name: str) -> ModernClient | LegacyClient:
        return self.legacy[name] if name in self.legacy else self.modern[name]

    def _operation(self, client: str, task_id: str = "") -> Operation:
        return Operation(self.reference.step, self.stack.clock.time, self._client(client).owner, task_id)

    def _ask(self, name: str, request: Callable[[], Answer], judge: Callable[[Answer], None]) -> None:
        def ended(outcome: Outcome) -> None:
            if isinstance(outcome, Done) and not says_nothing(outcome.value):
                judge(outcome.value)

        self.begin(name, request, ended)

    # ---------------------------------------------------------------------------------------------------------- calls

    @move(
        2,
        has_room,
        client=all_clients,
        tool=st.sampled_from(["optional", "optional", "confirmed", *RETRIED, *RACED, *IN_LINE, *DECIDED]),
        key=st.sampled_from([None, None, "a", "b"]),
        other_arguments=st.integers(0, 7),
    )
    def call(self, client: str, tool: str, key: str | None, other_arguments: int) -> None:
        """Call a tool; in some calls the same key comes with other arguments than before."""
        self.step("call")
        unique = f"{self.reference.step:05}" if key is None else f"{key}{'?' if other_arguments == 7 else ''}"
        operation = replace(self._operation(client), label=f"{tool} {unique}", key=key)
        params: Json = {"name": tool, "arguments": {"text": operation.label}}
        if client in self.legacy:
            params["task"] = {}
        if client in self.legacy or tool != "confirmed":
            self.reference.calls.append(operation)
        self._call(client, params, operation)

    @move(4, lambda run: has_room(run) and run.confirmables, which=few, accepts=st.booleans())
    def confirm(self, which: int, accepts: bool) -> None:
        """Answer the question before a modern call, possibly again."""
        self.step("confirm")
        one = self.confirmables[-1 - which % len(self.confirmables)]
        operation = replace(one.operation, number=self.reference.step, began_at=self.stack.clock.time)
        if accepts:
            self.reference.accepted.add(operation.label)
            self.reference.calls.append(operation)
        answers = {"confirm": CONFIRMING if accepts else DECLINING}
        self._call(one.client, {**one.params, "inputResponses": answers}, operation)

    @move(1, has_room_for_two, client=legacy_clients, given_up_first=st.booleans())
    def call_plain(self, client: str, given_up_first: bool) -> None:
        """Make a plain call and never resume it; possibly cancel it before it arrives."""
        self.step("plain call")
        operation = replace(self._operation(client), label=f"optional {self.reference.step:05}")
        self.plain.append(PlainCall(client, f"plain {self.reference.step}", operation.label, self.reference.now))
        self.reference.calls.append(operation)
        if given_up_first:
            self.give_up(0)

        def judge(answer: Answer) -> None:
            if error_of(answer):
                self._judge_refusal(operation, answer.error)

        arguments, message_id, who = {"text": operation.label}, self.plain[-1].message_id, self.legacy[client]
        call = recording_reclaims(operation, lambda: who.call("optional", arguments, message_id=message_id))
        self._ask(operation.label, call, judge)

    @move(4, lambda run: has_room(run) and run.plain, which=few)
    def give_up(self, which: int) -> None:
        """Cancel the request of a plain call."""
        self.step("give up")
        one = self.plain[-1 - which % len(self.plain)]
        self.reference.given_up.add(one.label)

        def judge(answer: Answer) -> None:
            assert answer.status == 202, answer.response.body
            # Later, the call is over by itself, and its work goes on.
            if self.reference.now - one.made_at <= Patience().whole_call:
                self.reference.is_given_up(one.label)

        params: Json = {"requestId": one.message_id}
        who = self.legacy[one.client]
        self._ask(f"give up {one.label}", lambda: who.notify("notifications/cancelled", params), judge)

    def _call(self, client: str, params: Json, operation: Operation) -> None:
        headers = {} if operation.key is None else {"idempotency-key": operation.key}
        who = self._client(client)

        def judge(answer: Answer) -> None:
            if error_of(answer):
                self._judge_refusal(operation, answer.error)
            elif "requestState" in answer.result:
                again = {**params, "requestState": answer.result["requestState"]}
                self.confirmables.append(Confirmable(client, again, operation))
            elif client in self.legacy:
                self.reference.calls_begin(operation, legacy_task(answer.result["task"]))
            elif "taskId" in answer.result:
                self.reference.calls_begin(operation, modern_task(answer.result))
            else:
                assert answer.result["isError"], "a call gets a result but no task"

        call = recording_reclaims(operation, lambda: who.ask("tools/call", params, headers=headers))
        self._ask(f"call {operation.label}", call, judge)

    def _judge_refusal(self, operation: Operation, error: Json) -> None:
        self.counted[f"refused {error['code']}"] += 1
        match error["code"]:
            case -31003:
                self.reference.reuses_a_key(operation)
            case -31002:
                self.reference.is_full(operation, MOST_ACTIVE, self.stack.reclaimed_at(operation.owner))
            case -32021 | -32602:  # it cannot be asked; its confirmation was used or has expired
                assert operation.label.startswith("confirmed"), error
            case _:
                assert "could not be started" in error["message"], error
        self.reference.is_refused(operation, has_claimed=error["code"] != -31003)

    # ---------------------------------------------------------------------------------------------------------- tasks

    def _task_id(self, which: int) -> str:
        """Choose a task: preferably an active one, the newest first, because more can happen to it."""
        newest_first = list(reversed(self.reference.tasks.items()))
        ids = [task_id for has_ended in (False, True) for task_id, one in newest_first if one.is_over == has_ended]
        return ids[which % len(ids)]

    def _tells(self, operation: Operation, told: Told) -> None:
        self.reference.tells(operation, told)
        for key, message in (told.questions or {}).items():
            learned = self.ids if "." in key else self.keys
            learned[self.reference.question(told.task_id, message).token] = key

    @move(4, has_tasks, client=all_clients, which=few)
    def get(self, client: str, which: int) -> None:
        """Read a task, possibly another caller's."""
        self.step("get")
        self._get(client, self._task_id(which))

    def _get(self, client: str, task_id: str) -> None:
        operation = self._operation(client, task_id)

        def judge(answer: Answer) -> None:
            if is_missing(answer):
                self.reference.misses(operation)
            elif client in self.legacy:
                self._tells(operation, legacy_task(answer.result))
            else:
                told = modern_details(answer.result)
                self._tells(operation, replace(told, questions=None) if client == SILENT else told)

        self._ask(f"get {operation.task_id}", lambda: self._client(client).task("get", operation.task_id), judge)

    @move(2, has_tasks, client=legacy_clients, which=few)
    def result(self, client: str, which: int) -> None:
        """Fetch the result of a task, possibly another caller's."""
        self.step("result")
        self._result(client, self._task_id(which))

    @move(6, lambda run: has_room(run) and run.reference.questions, which=few, in_legacy=st.booleans())
    def see(self, which: int, in_legacy: bool) -> None:
        """Read a task that has asked something, as its owner."""
        self.step("see")
        questions = list(self.reference.questions.values())
        task_id = questions[-1 - which % len(questions)].task_id
        if in_legacy:
            self._result(f"legacy{self._whose(task_id)}", task_id)
        else:
            self._get(f"modern{self._whose(task_id)}", task_id)

    def _whose(self, task_id: str) -> str:
        return " of bob" if self.reference.tasks[task_id].owner == BOB else ""

    def _result(self, client: str, task_id: str) -> None:
        operation = self._operation(client, task_id)

        def judge(answer: Answer) -> None:
            if is_missing(answer):
                self.reference.misses(operation)
            else:
                self._tells(operation, legacy_result(answer, operation.task_id))

        self._ask(f"result {operation.task_id}", lambda: self._client(client).task("result", operation.task_id), judge)

    @move(1, has_room, client=legacy_clients)
    def list_tasks(self, client: str) -> None:
        """List a caller's tasks."""
        self.step("list")
        operation = self._operation(client)

        def judge(answer: Answer) -> None:
            self.reference.lists(operation, [legacy_task(one) for one in answer.result["tasks"]])

        self._ask("list", lambda: self._client(client).ask("tasks/list"), judge)

    @move(3, has_tasks, client=all_clients, which=few)
    def cancel(self, client: str, which: int) -> None:
        """Cancel a task."""
        self._cancel(client, self._task_id(which))

    def _cancel(self, client: str, task_id: str) -> None:
        self.step("cancel")
        operation = self._operation(client, task_id)
        known = self.reference.tasks[operation.task_id]
        if known.owner == operation.owner:
            known.ends.add(CANCELLED)

        def judge(answer: Answer) -> None:
            if is_missing(answer):
                self.reference.misses(operation)
                return
            assert known.owner == operation.owner, "a caller cancels a task of another"
            if client in self.legacy and not error_of(answer):
                self._tells(operation, legacy_task(answer.result))
            self.reference.has_ended(operation.task_id)

        self._ask(f"cancel {operation.task_id}", lambda: self._client(client).task("cancel", operation.task_id), judge)

    # -------------------------------------------------------------------------------------------------------- answers

    @move(
        4,
        lambda run: has_tasks(run) and any(one.label.startswith("confirmed") for one in run.reference.tasks.values()),
        client=modern_clients,
        which=few,
        accepts=st.booleans(),
    )
    def decide(self, client: str, which: int, accepts: bool) -> None:
        """Answer the question before a legacy task starts."""
        self.step("decide")
        operation = self._operation(client, self._task_id(which))
        known = self.reference.tasks[operation.task_id]
        if known.owner == operation.owner and accepts:
            self.reference.accepted.add(known.label)
        elif known.owner == operation.owner:
            known.ends.add(DECLINED)

        def judge(answer: Answer) -> None:
            if is_missing(answer):
                self.reference.misses(operation)
            else:
                assert not error_of(answer), answer.error
                assert known.owner == operation.owner, "a caller confirms a task of another"
                known.decided = True

        responses = {"confirm": CONFIRMING if accepts else DECLINING}
        who = self.modern[client]
        self._ask(f"decide {operation.task_id}", lambda: who.update(operation.task_id, responses), judge)

    def _question(self, which: int) -> Question:
        seen = [one for token, one in self.reference.questions.items() if token in self.keys or token in self.ids]
        return seen[-1 - which % len(seen)]

    def _value(self, question: Question, how: str) -> Json:
        note = f"{question.token} {self.reference.step:05}"
        right: Json = {"action": "accept", "content": {"amount": 7, "note": note}}
        return {"wrong": WRONG, "declines": DECLINING}.get(how, right)

    def _gives(self, operation: Operation, question: Question, value: Json | None) -> Given:
        """Record that an answer is being sent."""
        given = Given(value, operation.number)
        if value is not WRONG and self.reference.tasks[question.task_id].owner == operation.owner:
            question.given.append(given)
        return given

    @move(
        8,
        has_questions,
        client=modern_clients,
        which=few,
        how=st.sampled_from(["right", "right", "wrong", "declines"]),
        partial=st.booleans(),
    )
    def update(self, client: str, which: int, how: str, partial: bool) -> None:
        """Answer the questions of a task, all or only one, possibly again."""
        self.step("update")
        one = self._question(which)
        operation = self._operation(client, one.task_id)
        same_task = [other for other in self.reference.questions.values() if other.task_id == one.task_id]
        asked = [other for other in ([one] if partial else same_task) if other.token in self.keys]
        values = {other.token: self._value(other, how if other is one else "right") for other in asked}
        given = {other.token: self._gives(operation, other, values[other.token]) for other in asked}
        one.was_wrong = one.was_wrong or WRONG in values.values()

        def judge(answer: Answer) -> None:
            if error_of(answer):
                for other in asked:
                    other.given = [each for each in other.given if each is not given[other.token]]
                assert is_missing(answer), f"an answer is refused: {answer.error}"
                self.reference.misses(operation)
                return
            self.reference.known(one.task_id, operation.owner)
            for other in asked:
                if not other.was_wrong:
                    self.reference.takes(given[other.token], other)

        who = self.modern[client]
        responses = {**{self.keys[token]: value for token, value in values.items()}, "nobody-asked": DECLINING}
        self._ask(f"update {one.task_id}", lambda: who.update(one.task_id, responses), judge)

    @move(
        6,
        has_questions,
        client=legacy_clients,
        which=few,
        how=st.sampled_from(["right", "right", "wrong", "declines", "cannot"]),
    )
    def respond(self, client: str, which: int, how: str) -> None:
        """Answer a request of the server."""
        one = self._question(which)
        self.step("respond" if one.token in self.ids else "respond to nothing")
        operation = self._operation(client, one.task_id)
        value = None if how == "cannot" else self._value(one, how)
        message_id = self.ids.get(one.token, f"{one.task_id}.99")
        given = self._gives(operation, one, value) if one.token in self.ids else Given(value, operation.number)
        one.was_wrong = one.was_wrong or how == "wrong"
        outcome: Json = {"error": {"code": -1, "message": "no"}} if value is None else {"result": value}

        def judge(answer: Answer) -> None:
            if answer.status != 202:
                one.given = [each for each in one.given if each is not given]
                return
            is_own = self.reference.tasks[one.task_id].owner == operation.owner
            if is_own and one.token in self.ids and not one.was_wrong:
                self.reference.takes(given, one)

        who = self.legacy[client]
        self._ask(f"respond {message_id}", lambda: who.respond({"id": message_id}, **outcome), judge)


def recording_reclaims(operation: Operation, call: Callable[[], Answer]) -> Callable[[], Answer]:
    """Make a call that records in its operation whether it has read tasks to reclaim slots."""

    def noted() -> Answer:
        answer = call()
        operation.reclaims = "BatchGetItem tasks" in calls_made()
        return answer

    return noted
