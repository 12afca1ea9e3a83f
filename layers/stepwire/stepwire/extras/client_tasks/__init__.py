"""Questions that a legacy client makes tasks of its own (2025-11-25): it is asked about them until they are answered.

Few clients declare that they do, so all but this is loaded with the first request of one that does.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from stepwire.hooks import Extra, Streams
from stepwire.json_text import JsonObject
from stepwire.protocol.messages import Response
from stepwire.server.call import Call
from stepwire.server.services import Services
from stepwire.tasks.inputs import InputRequest
from stepwire.tasks.task import Task


def _has_tasks(call: Call) -> bool:
    return "tasks" in call.client_capabilities


def _take(services: Services, call: Call, response: Response) -> bool:
    if not _has_tasks(call):
        return False
    from stepwire.extras.client_tasks.asking import take

    return take(services, call, response)


def _due(call: Call, task: Task, polls: int, at: datetime) -> Iterator[str]:
    if not _has_tasks(call):
        return iter(())
    from stepwire.extras.client_tasks.asking import due

    return due(call, task, polls, at)


def _offer(call: Call, task: Task, request: InputRequest, at: datetime) -> JsonObject:
    if not _has_tasks(call):
        return {}
    from stepwire.extras.client_tasks.asking import offer

    return offer(call, task, request, at)


def _is_deferred(call: Call, task: Task, request: InputRequest) -> bool:
    if not _has_tasks(call):
        return False
    from stepwire.extras.client_tasks.asking import is_deferred

    return is_deferred(call, task, request)


def _pace(call: Call, task: Task) -> timedelta:
    if not _has_tasks(call):
        return timedelta()
    from stepwire.extras.client_tasks.asking import pace

    return pace(call, task)


EXTRA: Final = Extra(name="client_tasks", streams=Streams(_take, _due, _offer, _is_deferred, _pace))
