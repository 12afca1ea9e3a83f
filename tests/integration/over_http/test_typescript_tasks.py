"""The released TypeScript clients with tasks run them from start to end: SDK 1.32, and `ext-tasks` 0.2 in both eras."""

from typing import Any, Final

import pytest

from tests.clients.programs import in_node

LEGACY: Final = "2025-11-25"
MODERN: Final = "2026-07-28"

pytestmark = pytest.mark.long


def seen_by(url: str, library: str) -> dict[str, Any]:
    """Run tasks.mjs, and return what its client has seen."""
    return in_node("tasks.mjs", url, library)


@pytest.mark.parametrize("selection", ["", "/tools/wait_and_echo,approve_refund/discover/1"])
@pytest.mark.parametrize(
    ("library", "version"), [("sdk", LEGACY), ("ext-tasks-legacy", LEGACY), ("ext-tasks-auto", MODERN)]
)
def test_a_task_gives_its_result_is_answered_and_is_cancelled(
    url: str, library: str, version: str, selection: str
) -> None:
    seen = seen_by(
        f"{url}{selection}?resume=1", library
    )  # ext-tasks answers questions of plain calls, and not of legacy tasks (decision 8)

    assert seen["version"] == version
    assert seen["first"]["structuredContent"] == {"message": "hello", "waited_seconds": 0}
    assert seen["long"]["structuredContent"] == {"message": "patience", "waited_seconds": 4}
    assert len(seen["asked"]) == 1
    assert seen["question"]["structuredContent"]["refunded"] == "60.00"
    assert seen["cancelled"] == "cancelled"
    if library != "sdk":  # which has no way to take a task over
        assert seen["resumed"]["structuredContent"] == {"message": "taken over", "waited_seconds": 2}
