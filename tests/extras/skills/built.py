"""The skills of a world: none but the endpoint's own."""

from typing import Any, Final

from stepwire.extras.skills import skills_of
from stepwire.extras.skills.skill import Skill


def no_skills() -> tuple[Skill, ...]:
    return ()


BUILT: Final[dict[Any, Any]] = {skills_of: no_skills}
