"""Responses that a legacy client comes back for: SSE polling (K8), all of it in short, whole bodies.

A request that is not done answers with a body without its response; the client waits for `retry`, and goes on at GET
with the last event id, until a body brings the response. What it has got is in that id, so any function instance can go
on, and nothing is told twice. What a live stream gets, whatever breaks here: 200, and an id to go on with; every other
answer ends it for one client or the other.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from stepwire.access import Scopes
from stepwire.errors import HttpMethodNotAllowed, ProtocolError, TaskAlreadyEnded, TooManyPolls, UnknownTask
from stepwire.json_text import Json, JsonObject
from stepwire.methods import Call, Kit, Stream, Written, answer_or_raise, permit
from stepwire.principal import Principal
from stepwire.protocol.messages import (
    MessageId,
    Response,
    error_text,
    is_id,
    notification_text,
    request_text,
    result_text,
)
from stepwire.protocol.positions import StreamPosition, position_of
from stepwire.protocol.sessions import Session
from stepwire.protocol.sse import ServerSentEvent, body_of
from stepwire.protocol.versions import LEGACY_WITH_TASKS, RELATED_TASK
from stepwire.rendering import legacy_request, legacy_result, legacy_task, progress_params
from stepwire.tasks.ids import TaskKey, task_id_of
from stepwire.tasks.inputs import InputRequest, Mode, mode_of, modes_of
from stepwire.tasks.task import Progress, Task
from stepwire.upkeep import REQUEST_KEPT

_STEPS: Final = 50  # milliseconds that the pause grows by with each poll, once it is long
_LONGEST_PAUSE: Final = 20_000  # milliseconds; clients give up on a request that is silent for longer


def can_resume(kit: Kit, call: Call) -> bool:
    """Tell whether a client comes back for a response; the others get JSON."""
    name = call.session.client_name.casefold()
    return (
        call.version == LEGACY_WITH_TASKS
        and call.takes_events
        and bool(call.session.id)
        and not any(name.startswith(beginning.casefold()) for beginning in kit.no_resume)
    )


def retry_ms(polls: int) -> int:
    """Say how long a client waits before it comes back: longer each time, and longer still where it takes hours.

    From 0.5 s to 5 s by a quarter each time, so that nobody waits much longer than the work took. From the hundredth
    poll on, 50 ms more each: `mcp` 1.30 breaks after 959 polls of one request, which so take four hours.
    """
    at_first = round(500 * 1.25 ** min(polls, 20))
    return min(_LONGEST_PAUSE, max(min(5_000, at_first), _STEPS * polls))


def opened(kit: Kit, call: Call, task: Task, *, is_call: bool) -> Stream | Written:
    """Answer a request for the result of a task: with the result where it is there, else with the first body."""
    position = StreamPosition(call.message_id, task.task_id, is_call, _updated(task))
    stream = _Stream(kit, position, call.modes, call.deadline)
    seen = stream.watch(task, kit.patience.inline if is_call else kit.patience.hold)
    events = stream.events(seen)
    if seen[-1].has_ended and len(events) == 1:
        return Written(events[0].data)
    return Stream(stream.body(events))


def resumed(kit: Kit, owner: Principal, session: Session, event_id: str, deadline: datetime | None = None) -> Stream:
    """Go on with a stream.

    Raises:
        InvalidRequest: the event id is none of ours.
        HttpMethodNotAllowed: the stream has ended, or its request was cancelled.
    """
    position = position_of(event_id)
    if position.has_ended:  # T5: one client asks once more after an error
        raise HttpMethodNotAllowed("This response is whole; there is nothing to go on with.")
    position = replace(position, polls=position.polls + 1)
    stream = _Stream(kit, position, modes_of(session.capabilities.get("elicitation")), deadline)
    try:
        kit.polls.check(owner, position.task_id)
        task = _followed(kit, owner, session, position)
        return Stream(stream.body(stream.events(stream.watch(task, kit.patience.hold))))
    except HttpMethodNotAllowed:
        raise
    except TooManyPolls:
        return Stream(stream.body([]))  # at no cost, and with the time after which it comes back
    except UnknownTask as error:
        return Stream(stream.body([stream.ending(error_text(position.message_id, error))]))
    except Exception as fault:  # noqa: BLE001 - a live stream goes on, whatever breaks
        kit.report(fault)
        return Stream(stream.body([]))


def cancel_request(kit: Kit, owner: Principal, session: Session, params: JsonObject) -> None:
    """Take note that a client has given up a request; the work of a plain call ends with it, that of a task goes on.

    The call itself may not have arrived yet; then its work does not begin.
    """
    request_id: Json = params.get("requestId")
    digest = session.digest_of(request_id) if is_id(request_id) else None
    if digest is None:
        return
    task_id = kit.operations.recorder.store.cancel_request(owner, digest, kit.now() + REQUEST_KEPT)
    if task_id is not None:
        with suppress(TaskAlreadyEnded, UnknownTask):
            kit.operations.cancel(owner, task_id)


def answer(kit: Kit, owner: Principal, response: Response, scopes: Scopes = None) -> None:
    """Take a client's answer to an `elicitation/create`: its id says which task, and which question.

    An answer to a question that is not open changes nothing, whether it was ever asked or not.

    Raises:
        InsufficientScope: the caller may not call the task's tool.
        UnknownTask: no such task for this caller.
    """
    task_id, _, number = str(response.id).partition(".")
    task = kit.operations.recorder.known(owner, task_id)
    request = next((one for one in task.input_requests if str(one.number) == number), None)
    if request is None:
        return
    permit(kit, scopes)(task)
    if response.result is None:
        kit.dialogue.give_up(owner, task_id, request.key)
    else:
        kit.dialogue.respond(owner, task_id, {request.key: response.result})


@dataclass(frozen=True)
class _Stream:
    """One stream, from where its client is."""

    kit: Kit
    position: StreamPosition
    modes: frozenset[Mode]
    """How this client can be asked for input."""
    deadline: datetime | None = None
    """When the request is cut off."""

    def watch(self, task: Task, patience: timedelta) -> list[Task]:
        """Give what is seen of a task, the first as it was read, until there is something that the client waits for."""
        seen = list[Task]()
        try:
            seen.extend(self.kit.operations.follow(task, patience, self._is_awaited, self.deadline))
        except UnknownTask:
            raise
        except Exception as fault:  # noqa: BLE001 - what was seen so far is told, and the stream goes on
            self.kit.report(fault)
        return seen

    def events(self, seen: list[Task]) -> list[ServerSentEvent]:
        """Write what the client has not heard of yet."""
        position, events = self.position, list[ServerSentEvent]()
        for task in seen:
            for one in _news(self.kit, position, task, self.modes):
                position = one.position
                events.append(ServerSentEvent(one.text, position.event_id()))
        return events

    def ending(self, text: str) -> ServerSentEvent:
        """Write a response, after which nothing comes."""
        return ServerSentEvent(text, replace(self.position, has_ended=True).event_id())

    def body(self, events: list[ServerSentEvent]) -> str:
        """Write a body: an id to go on with comes first (L8)."""
        first = ServerSentEvent(id=self.position.event_id())
        return body_of([first, *events], retry_ms(self.position.polls))

    def _is_awaited(self, task: Task) -> bool:
        return task.has_ended or any(_unasked(task, self.position, self.modes))


@dataclass(frozen=True)
class _News:
    """A message, and where the client is when it has got it."""

    text: str
    position: StreamPosition


def _news(kit: Kit, position: StreamPosition, task: Task, modes: frozenset[Mode]) -> Iterator[_News]:
    related = None if position.is_call else task.task_id
    updated = _updated(task)
    if related and updated > position.updated and not task.has_ended:  # T31
        position = replace(position, updated=updated)
        yield _News(notification_text("notifications/tasks/status", legacy_task(task, kit.now())), position)
    progress, token = _further(task, position), task.origin.progress_token
    if progress is not None and token is not None:
        position = replace(position, progress=progress.done)
        yield _News(_progress_text(task, progress, token, related), position)
    for request in _unasked(task, position, modes):  # T30
        message_id = f"{task.task_id}.{request.number}"
        position = replace(position, asked=request.number)
        params = legacy_request(request, related, message_id)
        yield _News(request_text(message_id, "elicitation/create", params), position)
    if task.has_ended:
        text = _response_text(kit, task, position)
        if text is not None:
            yield _News(text, replace(position, has_ended=True))


def _unasked(task: Task, position: StreamPosition, modes: frozenset[Mode]) -> Iterator[InputRequest]:
    in_order = sorted(task.input_requests, key=lambda one: one.number)
    return (one for one in in_order if one.number > position.asked and mode_of(one.elicitation) in modes)


def _further(task: Task, position: StreamPosition) -> Progress | None:
    if task.progress is None or task.progress.done <= position.progress:
        return None
    # T32: there is no progress of a task that has ended; a plain call goes on until its response.
    return None if task.has_ended and not position.is_call else task.progress


def _progress_text(task: Task, progress: Progress, token: MessageId, related: str | None) -> str:
    message = None if task.has_ended else task.status.message
    params = progress_params(progress, message, token)
    meta: JsonObject = {} if related is None else {"_meta": {RELATED_TASK: {"taskId": related}}}  # T29
    return notification_text("notifications/progress", {**params, **meta})


def _response_text(kit: Kit, task: Task, position: StreamPosition) -> str | None:
    """Write the response; None where Step Functions, which has it, gives no answer now."""
    related = None if position.is_call else task.task_id
    try:
        return result_text(position.message_id, legacy_result(answer_or_raise(kit, task), related))
    except ProtocolError as error:
        return error_text(position.message_id, error)
    except Exception as fault:  # noqa: BLE001 - the client comes back for it
        kit.report(fault)
        return None


def _updated(task: Task) -> int:
    return round(task.last_updated_at.timestamp() * 1000)


def _followed(kit: Kit, owner: Principal, session: Session, position: StreamPosition) -> Task:
    task_id = task_id_of(position.task_id)
    if task_id is None:
        raise UnknownTask
    recorder, digest = kit.operations.recorder, session.digest_of(position.message_id)
    if digest is None:
        return kit.operations.get(owner, task_id)
    followed = recorder.followed(TaskKey(owner, task_id), digest)
    if followed.is_cancelled:
        raise HttpMethodNotAllowed("The client has cancelled this request.")
    if followed.task is None:
        raise UnknownTask
    return kit.operations.upkeep.kept(followed.task)
