"""From the state of a task to its end: polls, and answers to the questions that come up.

The rule: whatever ends a wait leaves the task running.
"""

from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import anyio
from anyio.abc import TaskGroup
from mcp_types import CallToolResult

from stepwire_client.callbacks import Callbacks
from stepwire_client.eras import LegacyTasks, Requests
from stepwire_client.errors import CallFailed, TaskCancelled, TaskClientError, Unanswered
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

    async def wait(self, requests: LegacyTasks, task_id: str) -> None:
        """Wait. The next poll meets what is wrong, or shows how the task ended."""
        with self.scope, suppress(TaskClientError):
            await requests.wait(task_id)
        self.is_over = True


@dataclass
class Beside:
    """What a connection runs beside the polls: the waits for the questions of 2025-11-25, by their tasks."""

    group: TaskGroup | None = None
    listening: dict[str, Listening] = field(default_factory=dict[str, Listening])

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
            responses = {key: await self.callbacks.answer(question)}
            await self.pace.insist(lambda: self.requests.update(state.task_id, responses))  # noqa: B023 - awaited at once
            answered.add(key)

    def listen(self, requests: LegacyTasks, task_id: str) -> Listening:
        """Begin to wait for the result, beside the polls: meanwhile the server asks through the callbacks."""
        if not self.callbacks or self.beside.group is None:
            raise Unanswered(task_id, ())
        self.beside.listening[task_id] = listening = Listening()
        self.beside.group.start_soon(listening.wait, requests, task_id)
        return listening


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
                if listening is not None and listening.raised is not None:
                    raise listening.raised
                state = await waits.pace.insist(lambda: waits.requests.get(task_id))
    finally:
        if listening is not None:
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
