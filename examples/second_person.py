"""The second person of the demo: Ann of finance, who decides what the caller may not.

She decides in the way of the local console, as if she had it open in a window of her own. The rule: the caller is not
asked, and sees for whom the task waits before she decides.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any, Final

from mcp_types import ElicitRequestFormParams, ElicitResult

from examples.terminal_user import User
from stepwire_local.console import OpenApprovals

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
        is_caller_told: tells whether the caller has seen for whom the task waits.
    """

    def __init__(self, approvals: OpenApprovals, user: User, is_caller_told: Callable[[], bool]) -> None:
        self._approvals = approvals
        self._user = user
        self._is_caller_told = is_caller_told

    async def decide(self) -> tuple[ElicitResult, str]:
        """Wait for a question, and answer it; return the answer, and what was decided in words.

        Raises:
            NotAsked: there was no question for a minute, or the answer was not taken.
        """
        question = await self._question()
        for link in question["links"]:
            self._user.note(f"On the page, she decides it with {link}")
        params = ElicitRequestFormParams.model_validate(question["params"])
        answer = await self._user.elicit(params)
        body = json.dumps(answer.model_dump(mode="json", exclude_none=True)).encode()
        voted = await asyncio.to_thread(self._approvals.vote, question["name"], NAME, body)
        return answer, voted["message"]

    async def _question(self) -> Any:
        for _ in range(int(_HANG_GUARD / _PAUSE)):
            if self._is_caller_told() and (found := await asyncio.to_thread(self._approvals.listed, NAME)):
                return found[0]
            await asyncio.sleep(_PAUSE)
        raise NotAsked(f"Nobody of finance was asked for {_HANG_GUARD} seconds.")
