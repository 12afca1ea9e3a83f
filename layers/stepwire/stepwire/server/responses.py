"""A legacy client's response to a question on a stream: an answer like any other.

The id of the request names our task and the number of the question. An extra that has put it takes it first
(`hooks.Streams.take`); a response about a question that is not open is ignored, whether it was ever asked or not.
"""

from stepwire.json_text import JsonObject
from stepwire.protocol.messages import Response
from stepwire.server.call import Call
from stepwire.server.services import Services
from stepwire.tasks.inputs import InputRequest
from stepwire.tasks.task import Task


def take_response(services: Services, call: Call, response: Response) -> None:
    """Take a client's response to a request of the server.

    Raises:
        InsufficientScope: the caller may not call the task's tool.
        UnknownTask: no such task for this caller.
    """
    if any(one.streams.take(services, call, response) for one in services.parts if one.streams is not None):
        return
    task_id, *named = str(response.id).split(".", 4)
    task = services.operations.recorder.require(call.caller.principal, task_id)
    if len(named) == 1:
        take_answer(services, call, task, open_question(services, call, task, named[0]), response.result)


def open_question(services: Services, call: Call, task: Task, number: str) -> InputRequest | None:
    """Return the open question of this number, which the caller may answer; None if there is none.

    Raises:
        InsufficientScope: the caller may not call the task's tool.
    """
    request = next((one for one in task.input_requests if number == str(one.number)), None)
    if request is not None:
        services.permit(call.caller.scopes)(task)
    return request


def take_answer(
    services: Services, call: Call, task: Task, request: InputRequest | None, result: JsonObject | None
) -> None:
    """Take an answer to a question, if that is open; None stands for an error."""
    if request is None:
        return
    if result is None:
        services.answers.mark_unanswerable(call.caller.principal, task.task_id, request.key)
    else:
        services.answers.respond(call.caller.principal, task.task_id, {request.key: result})
