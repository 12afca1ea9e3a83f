"""What operators did to callers after an export is done again where another Region takes over (docs/restoring.md)."""

from pathlib import Path

import pytest

from stepwire_local.account.engine import shared_account
from stepwire_local.operating import account_of
from tests.extras.callers.scenes import OTHERS, blocked_and_erased
from tests.integration.clock import Clock
from tools.game_day.operator import Operator
from tools.game_day.regions import NEXT, client_of, imported, lost, owners_in, stack


@pytest.mark.long
def test_a_block_and_an_erasure_after_the_export_are_repeated_from_the_ticket(tmp_path: Path) -> None:
    owners = owners_in(tmp_path)
    with shared_account():
        left = lost(owners, OTHERS, blocked_and_erased)
        with stack(owners, NEXT, {"TasksTable": imported()}, PrincipalSalt=left.salt) as there:
            mallory, erin = (client_of(there, sub) for sub in OTHERS)
            assert mallory.task("get", left.tasks["mallory"]).status == 200
            assert erin.task("get", left.tasks["erin"]).result["status"] == "completed"

            with account_of(there) as account:
                operator = Operator(there, account)
                for line in left.ticket:
                    operator.types(line)

            clock = Clock()
            with clock.drives(there):
                clock.move(seconds=60)
                assert mallory.task("get", left.tasks["mallory"]).status == 403
            assert erin.task("get", left.tasks["erin"]).code == -32602
