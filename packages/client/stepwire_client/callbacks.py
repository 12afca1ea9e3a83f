"""What a server may ask of its client, and the functions that answer: elicitation, sampling, roots.

The rule: the client declares exactly what it has a function for, so no server asks in vain.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, cast

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
Fails: TypeAlias = Callable[[Mapping[str, Any], Exception], Awaitable[None]]
"""Is awaited with the `_meta` of a question and what its function has raised; returns if that is to be the answer."""


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

    def of_the_session(self, fails: Fails) -> dict[str, Any]:
        """Return the callbacks that the library's session takes, for questions outside of tasks and of 2025-11-25."""
        return {
            "elicitation_callback": None if self.elicit is None else _in_a_session(self.elicit, fails),
            "sampling_callback": None if self.sample is None else _in_a_session(self.sample, fails),
            "list_roots_callback": None if self.roots is None else _in_a_session(partial(_listed, self.roots), fails),
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


def _in_a_session(function: Callable[..., Awaitable[Any]], fails: Fails) -> Callable[..., Awaitable[Any]]:
    async def answered(context: ClientRequestContext, *params: Any) -> Any:
        try:
            return await function(*params)
        except Exception as error:
            await fails(cast("Mapping[str, Any]", context.meta or {}), error)
            raise CallbackRaised(error) from error

    return answered
