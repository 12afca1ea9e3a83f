"""What `stepwire wrap` and `stepwire doctor` propose where the words of a state name somebody else than the caller."""

from pathlib import Path

import pytest

from packages.command.tests.wrap.account import Account
from packages.command.tests.wrap.test_commands import options
from packages.wrap.tests.samples import machine, task
from packages.wrap.tests.shown import Shown
from stepwire.json_text import write
from stepwire_cli.account.commands import doctor, wrap

APPROVAL = task(resource="sns:publish.waitForTaskToken", Parameters={"TopicArn": "approvers", "Message.$": "$$"})


@pytest.fixture
def screen() -> Shown:
    return Shown()


@pytest.fixture
def account() -> Account:
    return Account()


def test_a_machine_that_waits_for_a_person_is_told_with_the_place_of_the_lines(
    account: Account, screen: Shown, tmp_path: Path
) -> None:
    account.add("Approvals", machine(Ask=APPROVAL))

    wrap(options(tmp_path, "Approvals", applies=True), account.calls, screen)

    (line,) = [one for one in screen.said if "state Ask waits for a person" in one]
    assert line.startswith("Approvals: state Ask waits for a person (")
    assert line.endswith(
        "leave it as it is, or ask approvers instead; not the caller, for it names somebody else (approver), with the "
        f"lines at the end of {tmp_path}/tools/approvals.yaml"
    )
    assert "# Ask:\n" in (tmp_path / "tools" / "approvals.yaml").read_text()
    assert "# Ask:\n" not in account.parameters["/stepwire/live/tools/approvals"]


def test_advice_is_no_reason_to_fail(account: Account, screen: Shown) -> None:
    account.add("Approvals", machine(Ask=APPROVAL), **{"stepwire:endpoint": "live"})
    account.parameters["/stepwire/live/tools/approvals"] = write(
        {"name": "approvals", "description": "Asks a manager whether an order may be shipped.",
         "state_machine": "Approvals", "input_schema": {"type": "object"}}
    )  # fmt: skip

    assert doctor("live", account.calls, screen) == 0

    (line,) = screen.results
    assert "state Ask waits for a person" in line
    assert "\n    Ask:\n" in line
