"""A tool of Stepwire's own asks the user of a legacy client: on a stream that the client resumes, without a task.

Each body runs the tool again, which asks or returns a result. So the stream stores only its position, and a caller who
may no longer decide gets the same as from a new call. Loaded with the first such call.
"""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stepwire.codec import MILLISECOND, milliseconds_of
from stepwire.errors import HttpMethodNotAllowed, InvalidRequest, ProtocolError, TooManyPolls
from stepwire.protocol.http import ServerSentEvent, body_of
from stepwire.protocol.messages import LEGACY_WITH_TASKS, error_text, notification_text, request_text, result_text
from stepwire.protocol.tokens import LONGEST, AskingPosition, asking_position_of
from stepwire.rendering import legacy_request, legacy_result, progress_params
from stepwire.schemas.validation import violations_of
from stepwire.server.call import Call, Stream
from stepwire.server.composition import own_tool
from stepwire.server.services import Services
from stepwire.server.sse_polling import retry_ms
from stepwire.server.ways import Ask
from stepwire.tasks.inputs import method_of
from stepwire.tasks.task import Progress, ToolResult, tool_error

_LONGEST_SILENCE: Final = timedelta(seconds=10)
"""Between two notifications of progress: clients give up on a request that is silent for longer than some 30 s."""
_SHORTEST_PAUSE: Final = 500  # milliseconds
_LATE: Final = tool_error(
    "Nothing was decided yet: your user has not answered in the time that this call may take. An answer that they "
    "still give counts. Ask them, and call the tool again when they want to answer."
)
_GONE: Final = tool_error("Nothing was decided: your sign-in does not let you decide such questions any more.")


def open_asking(services: Services, call: Call, tool: str, ask: Ask) -> Stream:
    """Return the first body of a stream, with the question to the client's user."""
    token = call.progress_token if call.version == LEGACY_WITH_TASKS else None
    patience, now = services.patience, services.now()
    longest = patience.whole_call if token is None else patience.whole_call_with_progress
    position = AskingPosition(
        call.message_id,
        tool,
        call.arguments,
        milliseconds_of(min(ask.until, now + longest)),
        milliseconds_of(now),
        token,
    )
    if len(position.event_id()) > LONGEST:
        position = replace(position, progress_token=None)
    return _body(services, position, _news(services, position, ask))


def resume_asking(services: Services, call: Call, event_id: str) -> Stream:
    """Return the part of a stream that the client has not received yet.

    Raises:
        InvalidRequest: the event id is not one that this server issued.
        HttpMethodNotAllowed: the stream has ended.
    """
    position = asking_position_of(event_id)
    if position.has_ended:
        raise HttpMethodNotAllowed("This response is complete; there is nothing to resume.")
    position = replace(position, polls=position.polls + 1)
    params = {"name": position.tool, "arguments": position.arguments}
    opened = replace(call, message_id=position.message_id, params=params)
    try:
        return _body(services, position, _news(services, position, _run(services, opened)))
    except TooManyPolls:
        return _body(services, position)
    except InvalidRequest:
        raise
    except ProtocolError as error:
        end = _Message(error_text(position.message_id, error), replace(position, has_ended=True))
        return _body(services, position, [end])
    except Exception as fault:  # noqa: BLE001 - no fault may end a live stream
        services.report(fault)
        return _body(services, position)


def _run(services: Services, opened: Call) -> ToolResult | Ask:
    """Run the tool again, with arguments from the client, as in a call."""
    tool, outcome = own_tool(services, opened), None
    if tool is None:
        return _GONE
    if tool.asks and not violations_of(tool.input_schema_text, opened.arguments):
        outcome = tool.run(services, opened, opened.arguments)
    if not isinstance(outcome, ToolResult | Ask):
        raise InvalidRequest("The Last-Event-ID was not issued by this server.")
    return outcome


class _Message(Struct, frozen=True):
    """A JSON-RPC message, and the client's position once it has received it."""

    text: str
    position: AskingPosition


def _news(services: Services, position: AskingPosition, outcome: ToolResult | Ask) -> Iterator[_Message]:
    now = milliseconds_of(services.now())
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
    elif position.progress_token is not None and now + retry_ms(position.polls) > _due_at(position):
        params = progress_params(Progress(position.polls), None, position.progress_token)
        yield _Message(notification_text("notifications/progress", params), replace(position, sent_at=now))


def _due_at(position: AskingPosition) -> int:
    return position.sent_at + _LONGEST_SILENCE // MILLISECOND


def _body(services: Services, position: AskingPosition, news: Iterable[_Message] = ()) -> Stream:
    """Write a body: an id to go on with comes first (L8)."""
    events = [ServerSentEvent(one.text, one.position.event_id()) for one in news]
    left = position.ends_at - milliseconds_of(services.now())
    pause = max(_SHORTEST_PAUSE, min(retry_ms(position.polls), left))
    return Stream(body_of([ServerSentEvent(id=position.event_id()), *events], pause))
