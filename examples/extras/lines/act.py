"""The act of the demo in which calls of a tool with a limit wait in line."""

import asyncio
import json
from typing import TYPE_CHECKING, Final

from mcp_types import CallToolResult
from rich.markup import escape

if TYPE_CHECKING:
    from examples.demo import Demo

CALLS: Final = 6
"""Of a tool of which three run at once."""
SECONDS: Final = 4
"""Of each reservation: as long as three calls take on a busy machine, so that some wait."""


class NotReserved(Exception):
    """Not every item was reserved."""


REASONS: Final = (NotReserved,)
PARAMETERS: Final[dict[str, str]] = {}
VARIABLES: Final[dict[str, str]] = {}


async def act(demo: "Demo", calls: int = CALLS) -> None:
    """Reserve more items at once than the warehouse takes, and show who waits in line.

    Raises:
        NotReserved: not every item was reserved.
    """
    demo.console.print(f"\n[bold]tools/call reserve_stock[/] {calls} times; the warehouse takes three at once")
    demo.progress.begin("in line")
    called, waits = list[str](), 0
    for number in range(1, calls + 1):
        task = await demo.client.create_task("reserve_stock", {"item": f"chair {number}", "seconds": SECONDS})
        if isinstance(task, CallToolResult):
            raise NotReserved("the server answered without a task")
        called.append(task.task_id)
        waits += task.status_message is not None
        demo.console.print(f"         [bold]{escape(task.task_id)}[/] {escape(task.status_message or 'Runs.')}")
    results = await asyncio.gather(*map(demo.client.task_result, called))
    reserved = {json.dumps(one.structured_content) for one in results}
    if len(reserved) < calls:
        raise NotReserved(f"Of {calls} items, {len(reserved)} were reserved: {', '.join(sorted(reserved))}.")
    # A machine that takes seconds for a call has no more than three at once.
    waited = f"{waits} of them waited for their turns" if waits else "none had to wait, because the calls came slowly"
    demo.console.print(f"\nAll {calls} are reserved; {waited}.", style="green")
