"""For those who have a `Client` of the library `mcp` already: its `call_tool` waits for tasks of 2026-07-28.

    async with Client(url, extensions=[Tasks()]) as client:
        result = await client.call_tool("profile_dataset", {"csv": text})

It knows nothing of 2025-11-25, in which such a client makes plain calls. `connect` knows both.
"""

from contextlib import aclosing
from typing import Any, Final

from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp_types import CallToolResult

from stepwire_client.callbacks import Callbacks
from stepwire_client.eras import EXTENSION, ModernRequests
from stepwire_client.following import Waits, Watch, followed, result_of
from stepwire_client.pace import Pace
from stepwire_client.wire import TaskHandle

_NO_CALLBACKS: Final = Callbacks()
_PACE: Final = Pace()


class Tasks(ClientExtension):
    """Lets `Client.call_tool` wait for tasks. `call_tool` then raises this package's errors for what befalls a task.

    Args:
        callbacks: answer what tasks ask. The client declares only what it has callbacks of the library for.
        watch: is shown every state.
        pace: how fast to poll.
    """

    identifier = EXTENSION

    def __init__(self, callbacks: Callbacks = _NO_CALLBACKS, *, watch: Watch | None = None, pace: Pace = _PACE) -> None:
        self._callbacks = callbacks
        self._watch = watch
        self._pace = pace

    def claims(self) -> tuple[ResultClaim[Any], ...]:
        """Return the claim for results that are tasks."""
        return (ResultClaim(result_type="task", model=TaskHandle, resolve=self._resolve),)

    async def _resolve(self, handle: TaskHandle, context: ClaimContext) -> CallToolResult:
        state = handle.begun()
        async with aclosing(
            followed(Waits(ModernRequests(context.session), self._callbacks, self._pace), state)
        ) as states:
            async for state in states:
                if self._watch is not None:
                    self._watch(state)
        return result_of(state)
