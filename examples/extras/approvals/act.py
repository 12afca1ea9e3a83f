"""The act of the demo in which a refund is not the caller's to approve, and a second person decides."""

import asyncio
from typing import TYPE_CHECKING, Final

from rich.markup import escape

from examples.extras.approvals.second_person import NAME, NotAsked, SecondPerson
from stepwire_local.extras.approvals import OpenApprovals

if TYPE_CHECKING:
    from examples.demo import Demo

REFUND: Final = {"order_id": "A-1003", "amount": "890.00", "currency": "EUR", "reason": "The desk came too late."}


class CallerAsked(Exception):
    """The caller was asked what others decide."""


REASONS: Final = (NotAsked, CallerAsked)
PARAMETERS: Final = {"ApprovalLinks": "link"}
VARIABLES: Final[dict[str, str]] = {}


async def act(demo: "Demo") -> None:
    """Request a refund that is not the caller's to approve, let a second person decide, and show the result.

    Raises:
        CallerAsked: the caller was asked.
        NotAsked: the second person was not asked.
        WrongResult: the refund disagrees with the decision.
    """
    asked_before = demo.user.asked
    approver = demo.user.somebody_else(f"{NAME} of finance is asked, in place of the caller:")
    approvals = OpenApprovals.among(demo.parts)
    ann = SecondPerson(approvals, approver, lambda: demo.progress.task_id if demo.progress.polls else None)
    call = demo.called("approve_refund", REFUND, f"{REFUND['amount']} EUR, which needs a second pair of eyes")
    result, (answer, decision) = await asyncio.gather(call, ann.decide())
    if demo.user.asked > asked_before:
        raise CallerAsked("The caller was asked what only finance may decide.")
    demo.show_refund(result, answer)
    demo.console.print(f"\n{escape(decision)} The caller was not asked.", style="green")
