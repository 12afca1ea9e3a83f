"""Progress reports: events of putEvents states reach the target function of a rule, as in AWS."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from packages.local.tests.simulated import Account
from stepwire_local.account.engine import ACCOUNT
from stepwire_local.account.isolation import REGION

REPORTER = Path(__file__).parents[1] / "answerer"
DETAIL_TYPE = "Stepwire Task Progress"


class Listener:
    """The target function of a rule, and the events that it received."""

    def __init__(self, account: Account, *resources: str) -> None:
        self._account = account
        self._queue = account.queue()
        function = account.function(REPORTER, AWS_REGION=REGION, QUEUE_URL=self._queue)
        pattern = {"source": ["stepwire"], "detail-type": [DETAIL_TYPE], "resources": list(resources)}
        account.rule_to(function.settings.arn, pattern)

    def heard(self) -> Any:
        """Return the only event that arrived."""
        (event,) = self._account.messages(self._queue)
        return event


def progress_state(detail: Any, **entry: Any) -> dict[str, Any]:
    """Return a state that reports progress."""
    entries = [{"Source": "stepwire", "DetailType": DETAIL_TYPE, "Detail": detail, **entry}]
    arguments = {"Entries": entries}
    resource = "arn:aws:states:::events:putEvents"
    return {"Type": "Task", "QueryLanguage": "JSONata", "Resource": resource, "Arguments": arguments}


@pytest.mark.parametrize(
    "detail",
    [
        {"progress": 1, "message": "profiled"},
        {"progress": "{% $states.input.done %}", "message": "{% 'pro' & 'filed' %}"},
        "{% {'progress': $states.input.done, 'message': 'profiled'} %}",
        "{% $string({'progress': 1, 'message': 'profiled'}) %}",
    ],
)
def test_progress_arrives_as_an_object(account: Account, detail: Any) -> None:
    machine = account.machine(progress_state(detail))
    listener = Listener(account, machine)

    account.start(machine, {"done": 1})

    assert listener.heard()["detail"] == {"progress": 1, "message": "profiled"}


def test_an_event_has_the_fields_that_aws_gives_it(account: Account) -> None:
    machine = account.machine(progress_state({"progress": 1}, Resources=["arn:aws:s3:::data"]))
    listener = Listener(account, machine)

    before = datetime.now(UTC).replace(microsecond=0)
    execution = account.start(machine)

    event = listener.heard()
    sent = datetime.strptime(event.pop("time"), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    assert before <= sent <= datetime.now(UTC)
    assert len(event.pop("id")) == 36
    assert set(event.pop("resources")) == {"arn:aws:s3:::data", execution, machine}
    assert event == {
        "version": "0",
        "detail-type": DETAIL_TYPE,
        "source": "stepwire",
        "account": ACCOUNT,
        "region": REGION,
        "detail": {"progress": 1},
    }


def test_a_rule_for_several_state_machines_matches_only_those(account: Account) -> None:
    first, second, other = (account.machine(progress_state({"of": name})) for name in ("first", "second", "other"))
    listener = Listener(account, first, second)

    account.ended(account.start(other))
    account.start(second)
    assert listener.heard()["detail"] == {"of": "second"}

    account.start(first)
    assert listener.heard()["detail"] == {"of": "first"}


def test_an_event_of_another_type_does_not_match(account: Account) -> None:
    other_source = progress_state({"n": 1}, Source="other")
    other_type = progress_state({"n": 2}, DetailType="Other")
    machine = account.machine(other_source, other_type, progress_state({"n": 3}))
    listener = Listener(account, machine)

    account.start(machine)

    assert listener.heard()["detail"] == {"n": 3}


def test_each_branch_of_a_map_reports_its_own_progress(account: Account) -> None:
    state = progress_state({"item": "{% $states.input %}"})
    processor = {"StartAt": "Tell", "States": {"Tell": {**state, "End": True}}}
    machine = account.machine({"Type": "Map", "Items": [1], "ItemProcessor": processor}, QueryLanguage="JSONata")
    listener = Listener(account, machine)

    execution = account.start(machine)

    event = listener.heard()
    assert event["detail"] == {"item": 1}
    assert execution in event["resources"]
