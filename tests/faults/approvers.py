"""What people other than the caller do with questions, and what is done for them: ask, remind, list, decide."""

from datetime import timedelta
from typing import Final

from stepwire.aws.storage.approvals import DynamoDbInbox
from stepwire.aws.storage.items import item_of
from stepwire.aws.storage.table import Table
from stepwire.engine.ports import QuestionKey
from stepwire.errors import UnknownApproval
from stepwire.rendering import timestamp
from stepwire.tasks.approvals import Approver, HasScope, VoteWay, digest_of
from stepwire.tasks.task import Task
from tests.faults.seen import ANSWER, Act, Seen, legacy, taken
from tests.faults.site import APPROVED, Site
from tests.faults.tasks_at_hand import question_of
from tests.server.answers import Json

HOUR: Final = timedelta(hours=1)
FINANCE: Final = HasScope("finance")
ANN: Final = Approver("a" * 32, "Ann", frozenset({FINANCE}))


def _called(site: Site) -> Task:
    site.handles.add(legacy(site).call(APPROVED.name, task={}).id_in("task"))
    return site.task()


def _asked(site: Site) -> Task:
    site.process.requests.record(question_of(site, _called(site)))
    return site.task()


def arrange_ask_others(site: Site) -> Act:
    question = question_of(site, _called(site))
    return taken(lambda: site.process.requests.record(question))


def others_are_asked(site: Site) -> list[str]:
    return [] if site.task().questions or site.task().has_ended else ["a question that nobody is asked"]


def arrange_remind(site: Site) -> Act:
    task, due = _asked(site), site.clock.now() + HOUR
    site.messages.clear()
    site.clock.time = due
    return taken(lambda: site.process.events.engine.runs.wake(task.key, 0, due))


def others_are_reminded(site: Site) -> list[str]:
    reminded = [one for one in site.task().questions if one.approval and one.approval.reminders]
    return [] if reminded or site.task().has_ended else ["a question that is not announced again"]


def arrange_listing(site: Site) -> Act:
    before = _called(site)
    site.process.requests.record(question_of(site, before))
    images = {"OldImage": item_of(before), "NewImage": item_of(site.task())}
    at = {"ApproximateCreationDateTime": site.clock.now().timestamp(), "SequenceNumber": "1"}
    record = {"eventName": "MODIFY", "dynamodb": {**images, **at}}

    def act() -> Seen:
        failures: list[Json] = []
        seen = taken(lambda: failures.extend(site.process.outbox({"Records": [record]}, None)["batchItemFailures"]))()
        return Seen.ERROR if failures else seen

    return act


def others_find_it(site: Site) -> list[str]:
    inbox = DynamoDbInbox(Table(site.table, lambda: site.account.tables))
    found = inbox.find([digest_of(FINANCE)], 10)
    return [] if found or site.task().has_ended else ["a question that its approvers do not find"]


def arrange_decision(site: Site) -> Act:
    task = _asked(site)
    key, now = QuestionKey(task.key, 1), timestamp(site.clock.now())
    vote: Json = {**ANSWER, "action": "accept"}
    told = {"action": "accept", "by": ANN.name, "person": ANN.person, "at": now, "way": "tool"}
    expected = {**vote, "answers": [{**told, "content": vote["content"]}]}

    def act() -> Seen:
        inbox = DynamoDbInbox(Table(site.table, lambda: site.account.boundary.dynamodb))
        try:
            site.process.engine.approvals(inbox).vote(key, ANN, vote, VoteWay.TOOL)
        except UnknownApproval:  # it was decided before
            return Seen.REFUSAL
        except Exception:  # noqa: BLE001 - a person tries again
            return Seen.ERROR
        site.outputs[task.execution] = expected
        return Seen.RESULT

    return act
