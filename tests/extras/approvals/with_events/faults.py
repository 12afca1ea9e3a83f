"""What tells approvers of questions, at each fault: their polls of events, and what records them."""

from typing import Final

from stepwire.extras.approvals.listening import REQUESTED
from tests.extras.approvals.faults import LISTED, called, client_of, streamed
from tests.extras.events.faults import OPENED, RECORDED, Deliveries
from tests.faults.operation import Caller, Operation
from tests.faults.seen import Act, seen_in
from tests.faults.site import Site
from tests.faults.tasks_at_hand import question_of
from tests.server.answers import Answer


def _poll(site: Site) -> Answer:
    """Let Ann ask what waits for her, from where she has read."""
    made = Deliveries.on(site)
    made.serve()
    return client_of(site, "modern").ask("events/poll", {"name": REQUESTED, "cursor": made.cursor})


def arrange_listening(site: Site) -> Act:
    """The first poll opens the record of events, and says what the approver's sign-in shows."""
    Deliveries.on(site)
    return lambda: seen_in(_poll(site))


def arrange_telling(site: Site) -> Act:
    made = Deliveries.on(site)
    made.cursor = _poll(site).result["cursor"]
    before = called(site)
    site.process.requests.record(question_of(site, before))
    return streamed(site, before, site.task(), made.stream)


def approvers_are_told(site: Site) -> list[str]:
    told = [one["data"]["happened"] for one in _poll(site).result["events"]]
    return [] if "asked" in told or site.task().has_ended else ["a question of which an approver is not told"]


OPERATIONS: Final = (
    Operation(
        "events/poll of an approver, first",
        Caller.CLIENT,
        ("GetItem events", "GetItem events", "PutItem subscriber", "PutItem events", *OPENED),
        arrange_listening,
        first=1,
        last=3,
    ),
    Operation(
        "question told to its approvers",
        Caller.STREAM,
        ("Query subscriber", *RECORDED, "Query events", *LISTED),
        arrange_telling,
        approvers_are_told,
        last=3,
    ),
)
