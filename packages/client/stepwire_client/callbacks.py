"""What a server may ask of its client, and the functions that answer: elicitation, sampling, roots.

The rules: the client declares exactly what it has a function for, so no server asks in vain. A function is cancelled
when its question is not open any more: somebody else has answered it, it has expired, or the task has ended.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias, cast

import anyio
from mcp.client.session import ClientRequestContext
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitRequest,
    ElicitRequestParams,
    ElicitResult,
    InputRequest,
    InputResponse,
    ListRootsResult,
    Root,
)

Elicit: TypeAlias = Callable[[ElicitRequestParams], Awaitable[ElicitResult]]
"""Asks the user: a form (`ElicitRequestFormParams`) or a page to open (`ElicitRequestURLParams`)."""
Sample: TypeAlias = Callable[
    [CreateMessageRequestParams], Awaitable[CreateMessageResult | CreateMessageResultWithTools]
]
"""Asks the client's model."""
Roots: TypeAlias = Callable[[], Awaitable[Sequence[Root]]]
"""Lists the folders that the server may know of."""


class Wait(Protocol):
    """What waits for a task, as far as a question of the task concerns it; a question is named by its `_meta`."""

    def asking(self, meta: Mapping[str, Any], /) -> AbstractContextManager[None]:
        """Cancel what runs in the block as soon as the question is not open any more, and leave the block then."""
        ...

    async def fails(self, meta: Mapping[str, Any], error: Exception, /) -> None:
        """Take note of what the function has raised; return if that is to be the answer."""
        ...


class CallbackRaised(Exception):
    """A function that answers has raised an error, which is for whoever waits for it."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True)
class Callbacks:
    """The functions that answer questions. A question without its function ends the wait with `Unanswered`."""

    elicit: Elicit | None = None
    sample: Sample | None = None
    roots: Roots | None = None

    def __bool__(self) -> bool:
        """Tell whether there is any."""
        return any((self.elicit, self.sample, self.roots))

    def missing(self, questions: Mapping[str, InputRequest]) -> list[str]:
        """Return the keys of the questions that no function answers."""
        return [key for key, question in questions.items() if self._function_for(question) is None]

    async def answer(self, question: InputRequest) -> InputResponse:
        """Answer a question, which must have its function."""
        match question:
            case ElicitRequest(params=params) if self.elicit is not None:
                return await self.elicit(params)
            case CreateMessageRequest(params=params) if self.sample is not None:
                return await self.sample(params)
            case _ if self.roots is not None:
                return await _listed(self.roots)
            case _:
                raise TypeError(f"There is no callback for {question.method}.")

    def of_the_session(self, wait: Wait) -> dict[str, Any]:
        """Return the callbacks that the library's session takes, for questions outside of tasks and of 2025-11-25."""
        return {
            "elicitation_callback": None if self.elicit is None else _in_a_session(self.elicit, wait),
            "sampling_callback": None if self.sample is None else _in_a_session(self.sample, wait),
            "list_roots_callback": None if self.roots is None else _in_a_session(partial(_listed, self.roots), wait),
        }

    def _function_for(self, question: InputRequest) -> object:
        match question:
            case ElicitRequest():
                return self.elicit
            case CreateMessageRequest():
                return self.sample
            case _:
                return self.roots


async def _listed(roots: Roots) -> ListRootsResult:
    return ListRootsResult(roots=list(await roots()))


def _in_a_session(function: Callable[..., Awaitable[Any]], wait: Wait) -> Callable[..., Awaitable[Any]]:
    async def answered(context: ClientRequestContext, *params: Any) -> Any:
        meta = cast("Mapping[str, Any]", context.meta or {})
        try:
            with wait.asking(meta):
                return await function(*params)
        except Exception as error:
            await wait.fails(meta, error)
            raise CallbackRaised(error) from error
        return await anyio.sleep_forever()  # nobody waits for an answer any more

    return answered
