"""Put the questions of workflows to approvers: whose a question is, and when it is announced again. Pure.

The rule: the tool's policy decides which questions are for approvers; a question's own audience narrows it.
"""

from collections.abc import Mapping
from datetime import datetime

from msgspec.structs import replace

from stepwire.extras.approvals.audiences import audience_of
from stepwire.extras.approvals.decision_fields import ANSWERABLE, AmbiguousDecision, form_of
from stepwire.extras.approvals.rules import Approval, approval_of, narrowed, recipient_key, route_of
from stepwire.json_text import Json, load_json, write
from stepwire.tasks.answers import Audience
from stepwire.tasks.inputs import Asked, Directed, FormElicitation, InvalidQuestion
from stepwire.tasks.task import Task


def directed(task: Task, key: str, audience: Json, asked: Asked, at: datetime) -> Directed | None:
    """Return what approvers are shown of a question, and who decides it; None: it is not for approvers.

    Raises:
        InvalidQuestion: its audience is not valid, the manifest allows none, or its form asks for the decision again.
    """
    route = route_of(task)
    policy = None if route is None else route.policy
    own = None if audience is None else audience_of(audience)
    if policy is None or not policy.is_for(key):
        if own is None:
            return None
        raise InvalidQuestion(
            f"it has an audience, and the manifest of {task.work.tool} has no approvers for the key {key!r}"
        )
    if not isinstance(asked, FormElicitation):
        raise InvalidQuestion("others than the caller can be asked with a form only: an elicitation in mode form")
    merged = narrowed(policy, own)
    if not merged.audience.conditions:
        raise InvalidQuestion("it names no audience, and neither does the manifest: who decides it?")
    if own is not None and not set(map(recipient_key, own.recipients)) <= set(map(recipient_key, policy.recipients)):
        raise InvalidQuestion("at audience: recipients must be among those of the manifest")
    if 0 < len(merged.recipients) < merged.approvals:
        raise InvalidQuestion("at audience: recipients must not be fewer than approvals")
    try:
        form = form_of(load_json(asked.requested_schema))
    except AmbiguousDecision as error:
        raise InvalidQuestion(f"{error}: {ANSWERABLE}") from None
    approval = Approval(merged, at, fields=form.fields)
    return Directed(replace(asked, requested_schema=write(form.shown)), approval.audience(task.asked_by))


def readdressed(task: Task, at: datetime) -> Mapping[int, Audience]:
    """Return the audiences of the questions that must be announced again by now, or to a second audience."""
    changed = dict[int, Audience]()
    for one in task.questions:
        approval = approval_of(one.audience)
        due = approval and approval.next_reminder()
        if approval and due and due <= at:
            changed[one.number] = approval.reminded(at).audience(task.asked_by)
    return changed
