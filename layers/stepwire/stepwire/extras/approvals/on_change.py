"""What function status_changes does for approvers: their inbox with its audit, and what others hear of questions."""

from collections.abc import Iterator, Sequence

from stepwire.aws.clients import secrets_manager_client
from stepwire.aws.secrets_manager import Secret
from stepwire.aws.settings import required
from stepwire.changes import BusEvent, ChangeServices, TaskChange
from stepwire.extras.approvals.changes import ApprovalRecording, approval_changes
from stepwire.extras.approvals.page.links import LinkMode, Links, origin_of
from stepwire.extras.approvals.page.settings import read_link_mode
from stepwire.extras.approvals.storage import DynamoDbInbox
from stepwire.hooks import TableGround


def listed(services: ChangeServices, changes: Sequence[TaskChange]) -> int:
    """Keep the inbox, and return for how many changes: those before a fault."""
    recording = ApprovalRecording(DynamoDbInbox(services.ground.table), services.audit)
    for number, change in enumerate(changes):
        try:
            for one in approval_changes(change):
                recording.record(one)
        except Exception as fault:  # noqa: BLE001 - it is delivered again
            services.report("a question could not be listed for its approvers", fault)
            return number
    return len(changes)


def bus_events(services: ChangeServices, change: TaskChange) -> Iterator[BusEvent]:
    """Yield what other systems hear of questions to others; of an open one, with its links."""
    for one in approval_changes(change):
        yield one.bus_event(lambda one=one: services.of(_links).of(one))


def _links(ground: TableGround) -> Links:
    mode = read_link_mode(ground.environment)
    if mode is LinkMode.OFF:
        return Links(mode, "", lambda: b"")
    secret = Secret(required(ground.environment, "SECRET_ARN"), secrets_manager_client)
    return Links(mode, origin_of(required(ground.environment, "RESOURCE")), secret)
