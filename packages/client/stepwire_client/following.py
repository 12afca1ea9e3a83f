"""From the state of a task to its end: polls, and answers to the questions that come up.

The rules: whatever ends a wait leaves the task running. While a callback answers, polls go on: whoever asks for an
answer that somebody else has given, or that the task does not wait for any more, is cancelled.
"""

from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import anyio
from anyio.abc import TaskGroup
from mcp_types import CallToolResult, InputRequest, InputResponse

from stepwire_client.callbacks import Callbacks
from stepwire_client.eras import LegacyTasks, Requests
from stepwire_client.errors import CallFailed, TaskCancelled, TaskClientError, Unanswered, UnknownTask
from stepwire_client.pace import Pace
from stepwire_client.states import Cancelled, Completed, Failed, InputRequired, Task

Watch: TypeAlias = Callable[[Task], None]
"""Is shown every state."""
_RELATED: Final = "io.modelcontextprotocol/related-task"


class Listening:
    """A wait for the result, beside the polls."""

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.is_over = False
        """Whether it has ended, perhaps because its connection was lost: then nothing is asked any more."""
        self.raised: Exception | None = None
        """By the callback of a question, which stays open."""
        self.asking = set[anyio.CancelScope]()
        """Of the callbacks that answer."""

    async def wait(self, requests: LegacyTasks, task_id: str) -> None:
        """Wait. The next poll meets what is wrong, or shows how the task ended."""
        with self.scope, suppress(TaskClientError):
            await requests.wait(task_id)
        self.is_over = True

    def withdraw(self, asked: Iterable[anyio.CancelScope]) -> None:
        """Cancel the callbacks of questions that are not open any more."""
        for one in asked:
            one.cancel()


@dataclass
class Beside:
    """What a connection runs beside the polls: the waits for the questions of 2025-11-25, by their tasks."""

    group: TaskGroup | None = None
    listening: dict[str, Listening] = field(default_factory=dict[str, Listening])

    @contextmanager
    def asking(self, meta: Mapping[str, Any]) -> Generator[None]:
        """Cancel what runs in the block as soon as a question is not open any more, and leave the block then."""
        listening = self.listening.get(meta.get(_RELATED, {}).get("taskId", ""))
        with anyio.CancelScope() as scope:
            if listening is None:
                yield
                return
            listening.asking.add(scope)
            try:
                yield
            finally:
                listening.asking.discard(scope)

    async def fails(self, meta: Mapping[str, Any], error: Exception) -> None:
        """End the wait for a task with what the callback of its question has raised; return if nobody waits.

        Otherwise it never returns: an answer, even an error, would end the question.
        """
        listening = self.listening.get(meta.get(_RELATED, {}).get("taskId", ""))
        if listening is not None:
            listening.raised = error
            await anyio.sleep_forever()


@dataclass(frozen=True)
class Waits:
    """What a wait needs."""

    requests: Requests
    callbacks: Callbacks
    pace: Pace
    beside: Beside = field(default_factory=Beside)

    async def answer(self, state: InputRequired, answered: set[str]) -> None:
        """Answer the new questions; a poll may still show one whose answer is on its way.

        A server may hide questions that the client has not declared to answer. Then none is shown, as when the answers
        are on their way; only for a client that answers nothing at all is it certain that it waits in vain.
        """
        questions = {key: question for key, question in state.questions.items() if key not in answered}
        missing = self.callbacks.missing(questions)
        if missing or not self.callbacks:
            raise Unanswered(state.task_id, missing)
        for key, question in questions.items():
            response = await self._while_open(state, key, question)
            if response is None:
                return  # the next poll shows what has become of the task
            responses = {key: response}
            await self.pace.insist(lambda: self.requests.update(state.task_id, responses))  # noqa: B023 - awaited at once
            answered.add(key)

    async def _while_open(self, state: InputRequired, key: str, question: InputRequest) -> InputResponse | None:
        """Return the answer to a question. As soon as it is not open any more, cancel its callback and return None."""
        asking, looking = anyio.CancelScope(), anyio.CancelScope()
        if self.beside.group is not None:
            self.beside.group.start_soon(self._withdraw, state, key, asking, looking)
        try:
            with asking:
                return await self.callbacks.answer(question)
            return None
        finally:
            looking.cancel()

    async def _withdraw(
        self, state: InputRequired, key: str, asking: anyio.CancelScope, looking: anyio.CancelScope
    ) -> None:
        """Poll until a question is not open any more, and cancel its callback. What else is wrong, its answer meets."""
        with looking, suppress(TaskClientError):
            try:
                while True:
                    await self.pace.rest(state)
                    now = await self.pace.insist(lambda: self.requests.get(state.task_id))
                    if now.last_updated_at >= state.last_updated_at and not _is_open(now, key):
                        asking.cancel()
                        return
            except UnknownTask:
                asking.cancel()

    def listen(self, requests: LegacyTasks, task_id: str) -> Listening:
        """Begin to wait for the result, beside the polls: meanwhile the server asks through the callbacks."""
        if not self.callbacks or self.beside.group is None:
            raise Unanswered(task_id, ())
        self.beside.listening[task_id] = listening = Listening()
        self.beside.group.start_soon(listening.wait, requests, task_id)
        return listening

    async def polled(self, task_id: str, listening: Listening | None) -> Task:
        """Return the state of a task; raise what a callback beside the polls has raised."""
        if listening is None:
            return await self.pace.insist(lambda: self.requests.get(task_id))
        if listening.raised is not None:
            raise listening.raised
        asked = tuple(listening.asking)  # before the poll: what is asked meanwhile may be newer than its answer
        state = await self.pace.insist(lambda: self.requests.get(task_id))
        if not isinstance(state, InputRequired):
            listening.withdraw(asked)
        return state


def _is_open(state: Task, key: str) -> bool:
    return isinstance(state, InputRequired) and key in state.questions


@contextmanager
def named(task_id: str) -> Generator[None]:
    """Name the task in the error that ends a wait for it."""
    try:
        yield
    except TaskClientError as error:
        error.task_id = task_id
        raise


async def followed(waits: Waits, state: Task) -> AsyncGenerator[Task]:
    """Yield a state and those after it, and have the questions answered."""
    answered, listening, task_id = set[str](), None, state.task_id
    try:
        while True:
            yield state
            if isinstance(state, Completed | Failed | Cancelled):
                return
            with named(task_id):
                if isinstance(state, InputRequired):
                    if not isinstance(waits.requests, LegacyTasks):
                        await waits.answer(state, answered)
                    elif listening is None or listening.is_over:
                        listening = waits.listen(waits.requests, task_id)
                await waits.pace.rest(state)
                state = await waits.polled(task_id, listening)
    finally:
        if listening is not None:
            listening.withdraw(tuple(listening.asking))
            listening.scope.cancel()
            waits.beside.listening.pop(task_id, None)


def result_of(state: Task) -> CallToolResult:
    """Return the result of an ended task.

    Raises:
        CallFailed, TaskCancelled: there is none.
    """
    match state:
        case Completed(result=result):
            return result
        case Failed(task_id=task_id, error=error):
            raise CallFailed(task_id, error)
        case _:
            raise TaskCancelled(state.task_id)
