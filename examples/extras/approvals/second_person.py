"""The second person of the demo: Ann of finance, who decides what the caller may not.

She decides in the way of the local console, as if she had it open in a window of her own, or on the page for approvers:
whichever comes first counts. The rule: the caller is not asked, and sees for whom the task waits before she decides.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any, Final

from mcp_types import ElicitRequestFormParams, ElicitResult

from examples.terminal_user import User
from stepwire_local.extras import Refused
from stepwire_local.extras.approvals import OpenApprovals

NAME: Final = "Ann"
_PAUSE: Final = 0.1  # seconds
_HANG_GUARD: Final = 60  # seconds


class NotAsked(Exception):
    """No question came to the second person, or their answer was not taken; the message says how."""


class SecondPerson:
    """Answers the questions that are not the caller's.

    Args:
        approvals: the open questions of the local stack.
        user: the person at the terminal, or a stand-in.
        task_id: returns the id of the caller's task, once the caller has seen for whom it waits.
    """

    def __init__(self, approvals: OpenApprovals, user: User, task_id: Callable[[], str | None]) -> None:
        self._approvals = approvals
        self._user = user
        self._task_id = task_id

    async def decide(self) -> tuple[ElicitResult, str]:
        """Wait for a question, and answer it; return the answer, and what was decided in words.

        Raises:
            NotAsked: there was no question for a minute, or nobody has decided it.
        """
        question = await self._question()
        if links := question["links"]:
            self._user.note("", "Decide it here, or on this page, whose link she is sent. The first counts.", *links)
        asking = asyncio.create_task(self._user.elicit(ElicitRequestFormParams.model_validate(question["params"])))
        elsewhere = asyncio.create_task(self._decided_elsewhere(question["name"]))
        try:
            await asyncio.wait({asking, elsewhere}, return_when=asyncio.FIRST_COMPLETED)
            here = await self._voted(question["name"], asking.result()) if asking.done() else None
            return here or await elsewhere
        finally:
            for one in (asking, elsewhere):
                one.cancel()
            await asyncio.wait({asking, elsewhere})

    async def _voted(self, name: str, answer: ElicitResult) -> tuple[ElicitResult, str] | None:
        """Record an answer, and return it with what was decided; None if somebody else has decided just before."""
        body = json.dumps(answer.model_dump(mode="json", exclude_none=True)).encode()
        try:
            voted = await asyncio.to_thread(self._approvals.vote, name, NAME, body)
        except Refused as refused:
            if await asyncio.to_thread(self._approvals.outcome, name) is None:
                raise NotAsked(str(refused)) from None
            return None
        return answer, voted["message"]

    async def _decided_elsewhere(self, name: str) -> tuple[ElicitResult, str]:
        """Wait until somebody else has decided, and return what."""
        while (outcome := await asyncio.to_thread(self._approvals.outcome, name)) is None:
            await asyncio.sleep(_PAUSE)
        if outcome.answer is None:
            raise NotAsked(outcome.words)
        return ElicitResult.model_validate(outcome.answer), outcome.words

    async def _question(self) -> Any:
        for _ in range(int(_HANG_GUARD / _PAUSE)):
            listed = await asyncio.to_thread(self._approvals.listed, NAME) if self._task_id() else ()
            if found := [one for one in listed if one["taskId"] == self._task_id()]:
                return found[0]
            await asyncio.sleep(_PAUSE)
        raise NotAsked(f"Nobody of finance was asked for {_HANG_GUARD} seconds.")
