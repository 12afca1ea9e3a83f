"""Tasks that approvers decide, for `stepwire task`."""

from datetime import datetime, timedelta

from msgspec.structs import replace

from packages.command.tests.operated import OWNER, QUESTION, SECRET, TOKEN, completed, working
from stepwire.extras.approvals.rules import Approval, Approvers, HasClaim, People, VoteWay
from stepwire.tasks.answers import Action, Decision, Given, InputResponse
from stepwire.tasks.inputs import Callback, InputRequest
from stepwire.tasks.task import InputRequired, Inputs, Task


def asking_others(at: datetime) -> Task:
    """Return a task of which two people of finance must decide a question, and one has approved."""
    minute = timedelta(minutes=1)
    vote = Given("9a04e3b1c7d2f650", at + minute, InputResponse(Action.ACCEPT), SECRET, VoteWay.TOOL.value)
    policy = Approvers(People((HasClaim("groups", ("finance",)),)), approvals=2)
    request = InputRequest(
        "approval",
        1,
        QUESTION,
        Callback(TOKEN),
        at + timedelta(days=1),
        None,
        Approval(policy, at).audience(OWNER),
        (vote,),
    )
    return replace(working(at), status=InputRequired((request,)), inputs=Inputs(1, ("approval",)))


def decided_by_others(at: datetime) -> Task:
    """Return a task that has its result after one of finance approved."""
    vote = Given(
        "9a04e3b1c7d2f650", at + timedelta(minutes=1), InputResponse(Action.ACCEPT), SECRET, VoteWay.SIGN_IN.value
    )
    decision = Decision(1, "approval", "finance", (vote,))
    return replace(completed(at), inputs=Inputs(1, ("approval",), decisions=(decision,)))
