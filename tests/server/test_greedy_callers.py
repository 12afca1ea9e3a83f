"""However many greedy callers there are, a caller that holds nothing is served, and within a time that is known.

`docs/limits.md` states the times.
"""

from typing import Final

import pytest

from stepwire.engine.limiter import WAITS, express_places
from tests.extras import parts
from tests.server.greedy import EXPRESS_CALL, WAIT, Crowd, Kind, Site

KINDS: Final = {
    "waits for tasks": Kind(Site.wait_for_a_task, WAITS, WAIT),
    "calls of EXPRESS tools": Kind(Site.call_an_express_tool, express_places(WAITS), EXPRESS_CALL),
    **{name: kind for part in parts("greedy") for name, kind in part.KINDS.items()},
}
AT_ONCE, AS_TOLD = 0.5, None


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("patience", [AT_ONCE, AS_TOLD], ids=["who ask again at once", "who ask again when told"])
@pytest.mark.parametrize("begins", [0.5, 40.0], ids=["from the beginning", "in their midst"])
def test_a_newcomer_is_served_beside_a_greedy_caller_for_each_place_and_two_more(
    name: str, patience: float | None, begins: float
) -> None:
    kind = KINDS[name]

    first, *_ = Crowd(kind, kind.places.all + 2, 1, patience, begins).run()

    assert first <= kind.stated


@pytest.mark.parametrize("name", KINDS)
def test_two_greedy_callers_never_shut_out_a_third(name: str) -> None:
    """M1 and M2 of the attack: two callers, of which each makes several requests at the same time."""
    kind = KINDS[name]

    assert Crowd(kind, 2, 4, AT_ONCE, requests=4).run() == [0, 0, 0, 0]
