"""The scenes of a game day: something goes wrong at three in the morning, and an operator types what the pages say.

An extra has its own in its module `scenes`; the name of such a scene leads to the extra's page.
"""

from collections.abc import Callable
from typing import Final

from tests.extras import parts
from tools.game_day.night import Night, taken_over
from tools.game_day.regions import lost, owners_in


def lost_region(at: Night) -> str:
    """The Region is gone for good; a nightly export and a replica of the bucket are in another one."""
    owners = owners_in(at.folder)
    with taken_over(at, owners, lost(owners)):
        return "ended tasks are read with their results; what ran fails with a reason, and is called again"


SCENES: Final[dict[str, Callable[[Night], str]]] = {
    **{name: scene for part in parts("scenes") for name, scene in part.SCENES.items()},
    "A lost Region": lost_region,
}
