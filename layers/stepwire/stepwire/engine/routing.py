"""Whose a workflow's question is: the caller's, or others' to whom a router puts it."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from msgspec import Struct

from stepwire.json_text import Json
from stepwire.tasks.answers import Audience
from stepwire.tasks.approvals import EXTRA
from stepwire.tasks.inputs import Asked, Directed
from stepwire.tasks.task import Task


class Router(Struct, frozen=True):
    """Puts questions of workflows to others than the callers."""

    directed: Callable[[Task, str, Json, Asked, datetime], Directed | None]
    """Returns to whom the question of a task goes, by its key, the audience that it names, and what it asks; None: it
    is not for them. Raises InvalidQuestion."""
    readdressed: Callable[[Task, datetime], Mapping[int, Audience]]
    """Returns the audiences that questions must have from now on, by the numbers of the questions."""


def _directed(task: Task, key: str, audience: Json, asked: Asked, at: datetime) -> Directed | None:
    if task.work.approvers is None and audience is None:
        return None
    from stepwire.tasks.addressing import directed  # noqa: PLC0415 - few questions are for approvers

    return directed(task, key, audience, asked, at)


def _readdressed(task: Task, at: datetime) -> Mapping[int, Audience]:
    if all(one.audience.extra != EXTRA for one in task.questions):
        return {}
    from stepwire.tasks.addressing import readdressed  # noqa: PLC0415 - as above

    return readdressed(task, at)


TO_APPROVERS: Final = Router(_directed, _readdressed)
