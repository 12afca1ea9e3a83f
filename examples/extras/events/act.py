"""The act of the demo in which a webhook wakes an agent when its task has ended."""

from typing import TYPE_CHECKING, Final

from mcp_types import CallToolResult
from rich.markup import escape

from examples.extras.events.woken import NotWoken, woken_by
from stepwire_client import Completed

if TYPE_CHECKING:
    from examples.demo import Demo

REASONS: Final = (NotWoken,)
PARAMETERS: Final[dict[str, str]] = {}
VARIABLES: Final = {"LOCAL_WEBHOOKS": "on"}


async def act(demo: "Demo") -> None:
    """Let a webhook wake an agent when its task has ended, and show what it hears and fetches.

    Raises:
        NotWoken: the webhook was not called, or with something else; or the item was not reserved.
    """
    demo.console.print("\n[bold]events/subscribe task.finished[/], and [bold]tools/call reserve_stock[/] without polls")
    demo.progress.begin("asleep until the webhook is called")
    woken = await woken_by(demo.client, "reserve_stock", {"item": "chair", "in_stock_at_attempt": 1})
    data = woken.event["data"]
    demo.console.print(f"[dim]{woken.seconds:5.2f} s[/]  woken   [bold]{escape(data['taskId'])}[/] is {data['status']}")
    demo.console.print("         the signature is right; the agent fetches the result at once")
    match woken.task:
        case Completed(result=CallToolResult(structured_content={"item": item, "reserved_at_attempt": 1})):
            demo.console.print(f"\nA {item} is reserved, and nobody polled for it.", style="green")
        case other:
            raise NotWoken(f"The agent was woken, and its task is {other.status}.")
