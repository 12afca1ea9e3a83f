"""Questions that a legacy client makes tasks of its own: asking about such a task, and taking what the client says.

In 2025-11-25, either side may make a task of the other's request. To a client that declares it, a question goes with
`task`, and may be answered with a CreateTaskResult, which is stored with our task. Whenever the client resumes
a stream, it is asked about its tasks: `tasks/get` at the pace that it named, `tasks/result` once its task has ended,
and `tasks/cancel` once the question is closed. Each is sent again until it is answered, so a lost body loses nothing.
What the result holds is an answer like any other.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from stepwire.codec import MILLISECOND
from stepwire.engine.answers import WrongAnswer
from stepwire.extras.client_tasks.notes import (
    MOST_CLIENT_TASKS,
    NAME,
    ClientTask,
    ClientTaskState,
    client_task_of,
    client_task_state_of,
    closed,
    made_of,
    noted,
)
from stepwire.json_text import JsonObject, as_object
from stepwire.protocol.messages import Response, request_text
from stepwire.server.call import Call
from stepwire.server.results import open_question, take_answer
from stepwire.server.services import Services
from stepwire.server.ways import LONGEST_PAUSE
from stepwire.tasks.answers import Action
from stepwire.tasks.events import Noted
from stepwire.tasks.inputs import Elicitation, InputRequest, method_of
from stepwire.tasks.task import Task

# JavaScript's timers count milliseconds in 31 bits: a store that forgets by timer forgets at once what lasts longer.
_LONGEST_CLIENT_TASK: Final = timedelta(days=24)
_LOST: Final = "the client has lost the task that it made of this question"
_DISMISSED: Final[JsonObject] = {"action": Action.CANCEL.value}


def offer(call: Call, task: Task, request: InputRequest, at: datetime) -> JsonObject:
    """Return the parameter that lets a client answer a question with a task of its own; empty if it did not declare it.

    What is asked again is asked without: the client may have lost its task, or be unable to say how it stands.
    """
    is_full = len(made_of(task)) >= MOST_CLIENT_TASKS
    if is_full or request.is_asked_again or not _declares(call, method_of(request.asked)):
        return {}
    left = (request.expires_at or task.expires_at) - at
    return {"task": {"ttl": min(left, _LONGEST_CLIENT_TASK) // MILLISECOND}}


def is_deferred(call: Call, task: Task, request: InputRequest) -> bool:
    """Tell whether this client has made a task of the question, and so need not be asked it again."""
    return any(one.number == request.number for one in _tasks_of(call, task))


def pace(call: Call, task: Task) -> timedelta:
    """Return how long this client must wait before it resumes, so that it is not asked about its tasks too often."""
    open_numbers = _open_numbers(task)
    going_on = (one for one in _tasks_of(call, task) if one.number in open_numbers and not one.has_ended)
    return min(LONGEST_PAUSE, max((one.poll_interval for one in going_on), default=timedelta()))


def due(call: Call, task: Task, polls: int, at: datetime) -> Iterator[str]:
    """Write what to ask this client about its tasks, on the body that it gets after so many polls."""
    open_numbers = _open_numbers(task)
    for one in _tasks_of(call, task):
        verb = _due(call, one, polls, is_open=one.number in open_numbers)
        if verb is not None:
            message_id = f"{task.task_id}.{one.number}.{verb}.{round(at.timestamp() * 1000)}.{one.task_id}"
            yield request_text(message_id, f"tasks/{verb}", {"taskId": one.task_id})


def take(services: Services, call: Call, response: Response) -> bool:
    """Take a client's response to a request of the server, whose id names our task, the question, and what was asked.

    Return False for an answer to a question that is no task of the client.

    Raises:
        InsufficientScope: the caller may not call the task's tool.
        UnknownTask: no such task for this caller.
    """
    task_id, *named = str(response.id).split(".", 4)
    new = _made_of_question(call, named[0], response.result) if len(named) == 1 else None
    if len(named) <= 1 and new is None:
        return False
    task = services.operations.recorder.require(call.caller.principal, task_id)
    request = open_question(services, call, task, named[0])
    if new is not None:
        after = services.operations.recorder.record(task, Noted(NAME, noted(new)))
        if after is None or new not in made_of(after):  # there is no room for one more: then it is a wrong answer
            take_answer(services, call, task, request, response.result)
        return True
    made = next((one for one in _tasks_of(call, task) if named[3:] == [one.task_id]), None)
    match named:
        case [_, "result", _, _] if made is not None:
            take_answer(services, call, task, request, response.result)
        case [_, "get", _, _] if made is not None:
            _note_status(services, task, request, made, client_task_state_of(made, response.result))
        case [_, "cancel", _, _] if made is not None:
            services.operations.recorder.record(task, Noted(NAME, closed(made)))
        case _:
            pass
    return True


def _made_of_question(call: Call, number: str, result: JsonObject | None) -> ClientTask | None:
    """Return the task that a client has made of a question, also of a closed one, to have it cancelled."""
    may_make_tasks = "requests" in as_object(call.client_capabilities.get("tasks"))
    if not may_make_tasks or not number.isdecimal():
        return None
    return client_task_of(int(number), call.session.digest_of(int(number)) or "", result)


def _note_status(
    services: Services, task: Task, request: InputRequest | None, made: ClientTask, standing: ClientTaskState
) -> None:
    """Take what a client says of its task; `request` is the question, while it is open."""
    recorder = services.operations.recorder
    if standing is ClientTaskState.GOES_ON:
        return
    if standing is ClientTaskState.HAS_RESULT:
        recorder.record(task, Noted(NAME, noted(replace(made, has_ended=True))))
        return
    # The question comes first: a crash between the two leaves none that its client is never asked again.
    if request is not None and standing is ClientTaskState.LOST:
        task = services.answers.ask_again(task, {request.key: WrongAnswer(_LOST)})
    elif request is not None:
        task = _dismiss(services, task, request)
    recorder.record(task, Noted(NAME, closed(made)))


def _dismiss(services: Services, task: Task, request: InputRequest) -> Task:
    """Answer a question whose client task was cancelled, because the user does not want to answer."""
    if isinstance(request.asked, Elicitation):
        return services.answers.respond(task.owner, task.task_id, {request.key: _DISMISSED})
    return services.answers.mark_unanswerable(task.owner, task.task_id, request.key)


def _due(call: Call, one: ClientTask, polls: int, *, is_open: bool) -> str | None:
    if is_open and one.has_ended:
        return "result"
    if is_open:
        # Where the client's pace is slower than bodies may be, it is asked on some of them.
        return "get" if polls % -(-one.poll_interval // LONGEST_PAUSE) == 0 else None
    can_cancel = "cancel" in as_object(call.client_capabilities.get("tasks"))
    return "cancel" if can_cancel and not one.has_ended else None


def _tasks_of(call: Call, task: Task) -> Iterator[ClientTask]:
    """Give the tasks that this client has made of our task's questions."""
    return (one for one in made_of(task) if one.session == call.session.digest_of(one.number))


def _open_numbers(task: Task) -> frozenset[int]:
    return frozenset(one.number for one in task.input_requests)


def _declares(call: Call, method: str) -> bool:
    """Tell whether the client declares that it makes tasks of a request; the path of its capability is the method."""
    kind, _, verb = method.partition("/")
    requests = as_object(as_object(call.client_capabilities.get("tasks")).get("requests"))
    return verb in as_object(requests.get(kind))
