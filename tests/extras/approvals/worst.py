"""The most expensive requests of the page for approvers."""

import json
from collections.abc import Iterator
from datetime import timedelta
from functools import partial

from stepwire.extras.approvals.inbox import QuestionKey
from stepwire.extras.approvals.page.links import Link, LinkMode, sealed
from stepwire.extras.approvals.page.page import MOST_CONTROLS, ApprovalPage, PageRequest
from stepwire.extras.approvals.page.pages import APPROVE, DECISION
from stepwire.tasks.ids import TaskId, TaskKey
from tests.extras.approvals.approving import refunds, started
from tests.extras.approvals.built import approvals_in
from tests.kits import ALICE
from tests.worst.inputs import Input, forms


def inputs() -> Iterator[Input]:
    """Yield requests whose forms have as many fields or choices as a question may have."""
    choices = json.dumps([str(number) for number in range(2_000)])
    several = f'{{"a":{{"type":"array","items":{{"type":"string","enum":{choices}}}}}}}'
    sent = "&".join((f"{DECISION}={APPROVE}", *(f"field-0={number}" for number in range(MOST_CONTROLS - 1))))
    headers = {"sec-fetch-site": "same-origin", "content-type": "application/x-www-form-urlencoded"}
    for name, properties in (*forms(), ("several choices", several)):
        world = refunds()
        schema = {"type": "object", "properties": json.loads(properties)}
        task_id = started(world, form={"message": "m", "requestedSchema": schema})
        key = QuestionKey(TaskKey(ALICE, TaskId(task_id)), 1)
        link = sealed(Link(key, None, world.clock.now() + timedelta(days=1), needs_sign_in=False), b"a secret")
        page = ApprovalPage(approvals_in(world), LinkMode.LINK, "", "", lambda: b"a secret", lambda: [b"a secret"])
        for request in (PageRequest("GET", link), PageRequest("POST", link, headers=headers, body=sent.encode())):
            yield Input("approvals", f"{request.method} of {name}", partial(page.answer, request))
