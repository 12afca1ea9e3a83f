"""The tools of a card tell nothing of tasks that the caller does not have."""

from typing import Final

import pytest

from tests.kits import ALICE
from tests.server.clients import CARD_CAPABILITY, ModernClient
from tests.server.test_isolation import check_answered_alike

ARGUMENTS: Final[dict[str, dict[str, object]]] = {
    "card_task": {},
    "card_answer": {"question": "approval", "token": "x", "action": "accept"},
    "card_cancel": {},
}


# U9
@pytest.mark.parametrize("tool", ARGUMENTS)
def test_unknown_expired_and_foreign_are_answered_alike(tool: str) -> None:
    check_answered_alike(
        lambda world, task_id: ModernClient(world, ALICE, CARD_CAPABILITY).call(
            tool, {"task_id": task_id, **ARGUMENTS[tool]}
        )
    )
