"""SSE polling (K8): a legacy client resumes its response until it is complete; each HTTP body is short and complete.

While a request is not done, its HTTP response ends without the JSON-RPC response. The client waits for `retry`, then
sends a GET with the last event id, until a body contains the response. The event id says what the client has received,
so any function instance can resume the stream and sends only what is new. A stream that has not ended always gets 200
and an event id, even after a fault: after any other response, some client fails. Extras add to a stream by the hook
`streams`.

What a stream waits for is data of its position: news of a task, or one of Stepwire's own tools that asks its user. Each
body runs such a tool again, which asks or returns a result. So a caller who may no longer decide gets the same as from
a new call.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from stepwire.audit import AuditAction, Audited, AuditEntry
from stepwire.codec import MILLISECOND, milliseconds_of
from stepwire.engine.ports import WatchedTask
from stepwire.engine.upkeep import REQUEST_RETENTION
from stepwire.errors import (
    HttpMethodNotAllowed,
    InvalidRequest,
    ProtocolError,
    RequestCancelled,
    TaskAlreadyEnded,
    TooManyPolls,
    UnknownTask,
)
from stepwire.hooks import Streams
from stepwire.json_text import Json, as_object
from stepwire.protocol.http import ServerSentEvent, body_of
from stepwire.protocol.messages import (
    LEGACY_WITH_TASKS,
    RELATED_TASK,
    MessageId,
    error_text,
    is_id,
    notification_text,
    request_text,
    result_text,
)
from stepwire.protocol.tokens import LONGEST, StreamPosition, TaskNews, ToolRun, position_of
from stepwire.rendering import legacy_request, legacy_result, legacy_task, mark_repeated, next_progress, progress_params
from stepwire.schemas.validation import violations_of
from stepwire.server.call import Call, Stream, Written
from stepwire.server.composition import own_tool
from stepwire.server.results import answer_or_raise, stops_waiting, unfinished, unfinished_unread
from stepwire.server.services import Services
from stepwire.server.ways import LONGEST_PAUSE, Ask
from stepwire.tasks.ids import TaskId, TaskKey, created_at_of, task_id_of
from stepwire.tasks.inputs import InputRequest, method_of, mode_of
from stepwire.tasks.task import Progress, Task, ToolResult, tool_error
from stepwire.visible_text import visible

_PAUSE_STEP: Final = 50  # milliseconds that the pause grows by with each poll, once it is long
_LONGEST_PAUSE: Final = LONGEST_PAUSE // MILLISECOND
_SHORTEST_PAUSE: Final = 500  # milliseconds
_LONGEST_SILENCE: Final = 20_000  # milliseconds; between two notifications of progress
_LONGEST_SILENCE_OF_TOOLS: Final = 10_000
"""The same, of a tool that asks: clients give up on a request that is silent for longer than some 30 s."""
_SLACK: Final = 1_000  # milliseconds; that a poll takes on its way
_PROGRESS: Final = "notifications/progress"
_LATE: Final = tool_error(
    "Nothing was decided yet: your user has not answered in the time that this call may take. An answer that they "
    "still give counts. Ask them, and call the tool again when they want to answer."
)
_GONE: Final = tool_error("Nothing was decided: your sign-in does not let you decide such questions any more.")


def retry_ms(polls: int) -> int:
    """Return how long the client waits before its next poll, in milliseconds: longer each time.

    The pause grows from 0.5 s to 5 s by a quarter each time, so that a client waits little longer than the work takes.
    From the hundredth poll on it grows by 50 ms: `mcp` 1.30 fails after 959 polls of one request, which then take four
    hours.
    """
    early_pause = round(500 * 1.25 ** min(polls, 20))
    return min(_LONGEST_PAUSE, max(min(5_000, early_pause), _PAUSE_STEP * polls))


def open_stream(
    services: Services, call: Call, task: Task, *, is_call: bool, is_repeat: bool = False, is_fetch: bool = False
) -> Stream | Written:
    """Answer a request for the result of a task: with the result if it exists, else with the first body.

    Args:
        services: the services and settings of the endpoint.
        call: the request.
        task: the task whose result it wants.
        is_call: whether it is a `tools/call`; else it is a `tasks/result`.
        is_repeat: whether the call started nothing, because another call began its task.
        is_fetch: whether it is a call of `task_result`, for a task that another call has started.
    """
    now = services.now()
    longest = services.patience.whole_call if is_fetch else _longest(services, call, is_repeat=is_repeat)
    updated = milliseconds_of(task.last_updated_at)
    awaited = TaskNews(task.task_id, is_call, updated, is_repeat=is_repeat, is_fetch=is_fetch)
    ends_at = milliseconds_of(now + longest) if is_call else 0
    stream = _TaskStream(services, call, StreamPosition(call.message_id, awaited, ends_at, milliseconds_of(now)))
    seen = stream.watch(task, services.patience.first_request if is_call else services.patience.resuming_request)
    news = stream.news(seen)
    if seen[-1].has_ended and len(news) == 1:
        return Written(news[0].text)
    if not seen[-1].has_ended:
        _count(services, AuditAction.PRIMED, call)
    return Stream(stream.body(news, seen[-1]))


def open_asking(services: Services, call: Call, tool: str, ask: Ask) -> Stream:
    """Return the first body of a stream for one of Stepwire's own tools, with the question to the client's user."""
    token = call.progress_token if call.version == LEGACY_WITH_TASKS else None
    patience, now = services.patience, services.now()
    longest = patience.whole_call if token is None else patience.whole_call_with_progress
    ends_at, sent_at = milliseconds_of(min(ask.until, now + longest)), milliseconds_of(now)
    position = StreamPosition(call.message_id, ToolRun(tool, call.arguments, token), ends_at, sent_at)
    if len(position.event_id()) > LONGEST:
        position = replace(position, awaited=ToolRun(tool, call.arguments))
    stream = _ToolStream(services, call, position)
    return Stream(stream.written(stream.news(ask)))


def resume_stream(services: Services, call: Call, event_id: str) -> Stream:
    """Return the part of a stream that the client has not yet received.

    Raises:
        InvalidRequest: the event id is not one that this server issued.
        HttpMethodNotAllowed: the stream has ended.
    """
    position = position_of(event_id)
    if position.has_ended:  # T5: after an error, one client resumes once more
        raise HttpMethodNotAllowed("This response is complete; there is nothing to resume.")
    position = replace(position, polls=position.polls + 1)
    is_of_tool = isinstance(position.awaited, ToolRun)
    stream = (_ToolStream if is_of_tool else _TaskStream)(services, call, position)
    try:
        return Stream(stream.resumed())
    except TooManyPolls:
        return Stream(stream.body())  # without an AWS call, and with the retry time
    except InvalidRequest:
        raise
    except Exception as fault:  # noqa: BLE001 - no fault may end a live stream
        if isinstance(fault, ProtocolError if is_of_tool else UnknownTask):
            return Stream(stream.body([stream.ending(error_text(position.message_id, fault))]))
        services.report(fault)
        return Stream(stream.body())


def cancel_request(services: Services, call: Call) -> None:
    """Cancel a request: the workflow of a plain call stops, that of a task continues.

    If the call itself has not arrived yet, its work will not start. A request that was answered with an unfinished
    result is over: one host still cancels it on exit, and the work continues.
    """
    request_id: Json = call.params.get("requestId")
    digest = call.session.digest_of(request_id) if is_id(request_id) else None
    if digest is None:
        return
    task_id = services.operations.recorder.store.cancel_request(
        call.caller.principal, digest, services.now() + REQUEST_RETENTION
    )
    if task_id is not None and _is_pending(services, call, task_id):
        with suppress(TaskAlreadyEnded, UnknownTask):
            services.operations.cancel(call.caller.principal, task_id)


def _is_pending(services: Services, call: Call, task_id: TaskId) -> bool:
    """Tell whether the plain call that began a task may still wait for its response."""
    is_polled, age = call.session.resumes.calls, services.now() - created_at_of(task_id)
    if age <= (services.patience.whole_call if is_polled else services.patience.unresumable_request):
        return True
    if not is_polled or age > services.patience.whole_call_with_progress:
        return False
    task = services.operations.recorder.load(TaskKey(call.caller.principal, task_id))
    return task is not None and task.origin.progress_token is not None


class _Message(Struct, frozen=True):
    """A JSON-RPC message, and the client's position once it has received it."""

    text: str
    position: StreamPosition
    has_id: bool = True
    """Whether it moves the client to another position."""


class _Stream(Struct, frozen=True):
    """One stream, from the position that its client has reached."""

    services: Services
    call: Call
    position: StreamPosition

    def body(self, news: Iterable[_Message] = ()) -> str:
        """Write a body with these messages, and end a stream that has lasted long enough."""
        return self.written(news)

    def written(self, news: Iterable[_Message], pace: int = 0) -> str:
        """Write a body: an id to go on with comes first (L8). `pace`: the shortest pause after it, in milliseconds."""
        first = ServerSentEvent(id=self.position.event_id())
        events = [ServerSentEvent(one.text, one.position.event_id() if one.has_id else None) for one in news]
        return body_of([first, *events], self.pause(pace))

    def ending(self, text: str) -> _Message:
        """Write the response, which ends the stream."""
        return _Message(text, replace(self.position, has_ended=True))

    def pause(self, pace: int = 0) -> int:
        """Return how long the client waits before its next poll, in milliseconds; its last poll is when time is up."""
        pause, left = max(retry_ms(self.position.polls), pace), self.left
        return pause if left is None else max(_SHORTEST_PAUSE, min(pause, left // MILLISECOND))

    @property
    def left(self) -> timedelta | None:
        """The deadline of the response; None: the response comes when the work ends."""
        if not self.position.ends_at:
            return None
        left = timedelta(milliseconds=self.position.ends_at - milliseconds_of(self.services.now()))
        return max(timedelta(), left)


class _TaskStream(_Stream, frozen=True):
    """A stream that waits for news of a task."""

    def resumed(self) -> str:
        """Write what the client has not received yet."""
        services, call, position = self.services, self.call, self.position
        if position.polls == 1:
            _count(services, AuditAction.RESUMED, call)
        services.polls.check(call.caller.principal, _awaited(position).task_id, call.at)
        watched = _watched(services, call, position)
        if watched.is_cancelled or watched.task is None:
            return self.body(self.end_of(watched))
        seen = self.watch(watched.task, services.patience.resuming_request)
        return self.body(self.news(seen), seen[-1])

    def watch(self, task: Task, patience: timedelta) -> list[Task]:
        """Return the states of a task, until there is something that the client waits for or patience ends."""
        seen, left = list[Task](), self.left
        patience = patience if left is None else min(patience, left)
        try:
            seen.extend(self.services.operations.watch(task, patience, self._is_awaited, self.call.deadline))
        except UnknownTask:
            raise
        except Exception as fault:  # noqa: BLE001 - the client gets what was seen so far, and resumes
            self.services.report(fault)
        return seen

    def news(self, seen: list[Task]) -> list[_Message]:
        """Write what the client has not received yet."""
        position, news = self.position, self._due_requests(seen[-1])
        for task in seen:
            for one in _unsent_messages(self.services, self.call, position, task):
                position = one.position
                news.append(one)
        if seen[-1].has_ended or not self._must_answer(seen[-1]):
            return [*news, *self._sign_of_life(position, seen[-1])]
        result = unfinished(self.services, self.call, seen[-1], is_repeat=_awaited(self.position).is_repeat)
        return [*news, self._unfinished(result)]

    def end_of(self, watched: WatchedTask) -> list[_Message]:
        """Write the end of a request that its client has cancelled, or whose task does not exist."""
        if not watched.is_cancelled:
            return [self.ending(error_text(self.position.message_id, UnknownTask()))]
        # The Go SDK closes its session on any status but 200, here too.
        error = RequestCancelled("The client has cancelled this request.")
        due = [] if watched.task is None else self._due_requests(watched.task)
        return [*due, self.ending(error_text(self.position.message_id, error))]

    def body(self, news: Iterable[_Message] = (), task: Task | None = None) -> str:
        news = list(news)
        is_over = any(one.position.has_ended for one in news)
        if self.left == timedelta() and not is_over:
            awaited = _awaited(self.position)
            news = [*news, self._unfinished(unfinished_unread(awaited.task_id, is_repeat=awaited.is_repeat))]
        return self.written(news, self._pace(task))

    def _unfinished(self, result: ToolResult) -> _Message:
        marked = mark_repeated(legacy_result(result), is_repeat=_awaited(self.position).is_repeat)
        return self.ending(result_text(self.position.message_id, marked))

    def _must_answer(self, task: Task) -> bool:
        """Tell whether a call has lasted long enough, or its client's model has to answer a question."""
        is_late = self.left == timedelta()
        return _awaited(self.position).is_call and (is_late or stops_waiting(self.services, self.call)(task))

    def _pace(self, task: Task | None) -> int:
        paces = [] if task is None else [one.pace(self.call, task) for one in _streams(self.services) if one.pace]
        return max((pace // MILLISECOND for pace in paces), default=0)

    def _sign_of_life(self, position: StreamPosition, task: Task) -> Iterator[_Message]:
        """Add a little progress if the client has had none for too long, which restarts its timeout."""
        token, now = _token_of(task, position), milliseconds_of(self.services.now())
        is_check_due = now + self.pause(self._pace(task)) + _SLACK > position.sent_at + _LONGEST_SILENCE
        if token is None or not position.ends_at or task.has_ended or not is_check_due:
            return
        done = next_progress(_awaited(position).progress).done
        total = None if task.progress is None or task.progress.total is None else max(task.progress.total, done)
        text = _progress_text(task, Progress(done, total), token, None)
        yield _Message(text, _moved(replace(position, sent_at=now), progress=done))

    def _is_awaited(self, task: Task) -> bool:
        needs_model = _awaited(self.position).is_call and stops_waiting(self.services, self.call)(task)
        is_asked = any(_unsent_requests(self.services, self.call, self.position, task))
        return task.has_ended or needs_model or is_asked or bool(self._due_requests(task))

    def _due_requests(self, task: Task) -> list[_Message]:
        """Write the extras' due requests, which do not change the client's position."""
        polls, now = self.position.polls, self.services.now()
        due = (text for one in _streams(self.services) for text in one.due(self.call, task, polls, now))
        return [_Message(text, self.position, has_id=False) for text in due]


class _ToolStream(_Stream, frozen=True):
    """A stream whose bodies each run one of Stepwire's own tools again."""

    def resumed(self) -> str:
        """Write what the client has not received yet."""
        return self.written(self.news(self._run()))

    def news(self, outcome: ToolResult | Ask) -> Iterator[_Message]:
        """Write what the client has not received yet."""
        position, now, token = self.position, milliseconds_of(self.services.now()), self._run_again.progress_token
        if isinstance(outcome, Ask) and outcome.request.number > position.asked:
            outcome.put()
            params = legacy_request(outcome.request, None, outcome.message_id)
            position = replace(position, asked=outcome.request.number)
            yield _Message(request_text(outcome.message_id, method_of(outcome.request.asked), params), position)
        if isinstance(outcome, Ask) and now >= position.ends_at:
            outcome = _LATE
        if isinstance(outcome, ToolResult):
            text = result_text(position.message_id, legacy_result(outcome))
            yield _Message(text, replace(position, has_ended=True))
        elif token is not None and now + retry_ms(position.polls) > position.sent_at + _LONGEST_SILENCE_OF_TOOLS:
            text = notification_text(_PROGRESS, progress_params(Progress(position.polls), None, token))
            yield _Message(text, replace(position, sent_at=now))

    @property
    def _run_again(self) -> ToolRun:
        if not isinstance(self.position.awaited, ToolRun):
            raise TypeError(type(self.position.awaited).__name__)
        return self.position.awaited

    def _run(self) -> ToolResult | Ask:
        """Run the tool again, with arguments from the client, as in a call."""
        again = self._run_again
        params = {"name": again.tool, "arguments": again.arguments}
        opened = replace(self.call, message_id=self.position.message_id, params=params)
        tool, outcome = own_tool(self.services, opened), None
        if tool is None:
            return _GONE
        if tool.asks and not violations_of(tool.input_schema_text, opened.arguments):
            outcome = tool.run(self.services, opened, opened.arguments)
        if not isinstance(outcome, ToolResult | Ask):
            raise InvalidRequest("The Last-Event-ID was not issued by this server.")
        return outcome


def _awaited(position: StreamPosition) -> TaskNews:
    """Return what the client of a stream has received of a task."""
    if not isinstance(position.awaited, TaskNews):
        raise TypeError(type(position.awaited).__name__)
    return position.awaited


def _moved(position: StreamPosition, **received: Any) -> StreamPosition:
    """Return the position of a client that has received more of a task."""
    return replace(position, awaited=replace(_awaited(position), **received))


def _unsent_messages(services: Services, call: Call, position: StreamPosition, task: Task) -> Iterator[_Message]:
    related = None if _awaited(position).is_call else task.task_id
    updated, progress = milliseconds_of(task.last_updated_at), _unsent_progress(task, _awaited(position))
    if related and updated > _awaited(position).updated and not task.has_ended:  # T31
        position = _moved(position, updated=updated)
        yield _Message(notification_text("notifications/tasks/status", legacy_task(task, services.now())), position)
    token = _token_of(task, position)
    if progress is not None and token is not None:
        sent = replace(position, sent_at=milliseconds_of(services.now()))
        position = _moved(sent, progress=progress.done, updated=updated)
        yield _Message(_progress_text(task, progress, token, related), position)
    for request in _unsent_requests(services, call, position, task):  # T30
        message_id = f"{task.task_id}.{request.number}"
        position = replace(position, asked=request.number)
        params = legacy_request(request, related, message_id)
        for one in _streams(services):
            params |= one.offer(call, task, request, services.now())
        yield _Message(request_text(message_id, method_of(request.asked), params), position)
    if task.has_ended:
        text = _response_text(services, task, position)
        if text is not None:
            yield _Message(text, replace(position, has_ended=True))


def _unsent_requests(services: Services, call: Call, position: StreamPosition, task: Task) -> Iterator[InputRequest]:
    in_order = sorted(task.input_requests, key=lambda one: one.number)
    unsent = (one for one in in_order if one.number > position.asked and mode_of(one.asked) in call.modes)
    return (one for one in unsent if not any(added.is_deferred(call, task, one) for added in _streams(services)))


def _streams(services: Services) -> Iterator[Streams]:
    return (one.streams for one in services.parts if one.streams is not None)


def _unsent_progress(task: Task, received: TaskNews) -> Progress | None:
    if task.has_ended and not received.is_call:
        return None  # T32: a task that has ended sends no progress; a plain call may, until its response
    if task.progress is not None and task.progress.done > received.progress:
        return task.progress
    is_elsewhere = received.progress < 0 or milliseconds_of(task.last_updated_at) > received.updated
    return next_progress(received.progress) if task.in_line is not None and is_elsewhere else None


def _token_of(task: Task, position: StreamPosition) -> str | int | None:
    """Return the token for progress on a stream; the task's own belongs only to the call that created it."""
    awaited = _awaited(position)
    return None if awaited.is_repeat or awaited.is_fetch else task.origin.progress_token


def _progress_text(task: Task, progress: Progress, token: MessageId, related: str | None) -> str:
    message = None if task.has_ended else task.status.message
    params = progress_params(progress, message, token, task.in_line)
    if related is not None:  # T29
        params["_meta"] = {**as_object(params.get("_meta")), RELATED_TASK: {"taskId": related}}
    return notification_text(_PROGRESS, params)


def _response_text(services: Services, task: Task, position: StreamPosition) -> str | None:
    """Return the response; None if it is in Step Functions, which does not answer now."""
    awaited = _awaited(position)
    related = None if awaited.is_call else task.task_id
    try:
        result = legacy_result(answer_or_raise(services, task), related)
        return result_text(position.message_id, mark_repeated(result, is_repeat=awaited.is_repeat))
    except ProtocolError as error:
        return error_text(position.message_id, error)
    except Exception as fault:  # noqa: BLE001 - the client asks again at its next poll
        services.report(fault)
        return None


def _longest(services: Services, call: Call, *, is_repeat: bool) -> timedelta:
    """Return how long a plain call may last: longer if progress restarts the client's timeout."""
    # Codex, in an older version, has a timeout that progress does not restart.
    restarts = call.version == LEGACY_WITH_TASKS
    gets_progress = restarts and call.progress_token is not None and not is_repeat
    return services.patience.whole_call_with_progress if gets_progress else services.patience.whole_call


def _count(services: Services, action: Audited, call: Call) -> None:
    """Count a stream by the client that must resume it, so that the list of resuming clients can be corrected."""
    client = visible(f"{call.session.client_name} {call.session.client_version}".strip())
    services.operations.recorder.audit(AuditEntry(action, call.caller.principal, client=client or None))


def _watched(services: Services, call: Call, position: StreamPosition) -> WatchedTask:
    """Return the task of a stream after its upkeep, and whether the client has cancelled the stream's request."""
    task_id = task_id_of(_awaited(position).task_id)
    if task_id is None:
        return WatchedTask(None, is_cancelled=False)
    recorder, digest = services.operations.recorder, call.session.digest_of(position.message_id)
    if digest is None:
        return WatchedTask(services.operations.get(call.caller.principal, task_id), is_cancelled=False)
    watched = recorder.load_watched(TaskKey(call.caller.principal, task_id), digest)
    if watched.task is None or watched.is_cancelled:
        return watched
    return replace(watched, task=services.operations.upkeep.after_upkeep(watched.task))
