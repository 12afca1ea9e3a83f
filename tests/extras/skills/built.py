"""The skills of a world: none but the endpoint's own."""

from typing import Any

from stepwire.extras.skills import skills_of
from stepwire.extras.skills.skill import Skill


def no_skills() -> tuple[Skill, ...]:
    return ()


def built(_world: object) -> dict[Any, Any]:
    return {skills_of: no_skills}
