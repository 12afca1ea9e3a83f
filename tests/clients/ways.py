"""Every refusal, and the requests by which a released client gets it in an open session; or why no client can.

The tree below `ProtocolError` is the list: test_refusals.py compares each of its leaves with these tables. An extra has
its own in its module `ways`: `WAYS`, and `OTHERS` with the errors that its own tests show.
"""

from typing import Any, Final

from stepwire import errors
from stepwire.errors import ProtocolError
from stepwire.json_text import JsonObject
from tests.clients.endpoint import AT_THE_LIMIT, POLLED_TOO_OFTEN
from tests.clients.way import LEGACY, MODERN, TASK, Way
from tests.extras import parts

TEXT: Final = {"text": "hello"}


def _call(tool: str, **more: Any) -> tuple[str, JsonObject]:
    return "tools/call", {"name": tool, "arguments": TEXT, **more}


def _keyed(text: str) -> tuple[str, JsonObject]:
    return _call("instant", arguments={"text": text}, _meta={"stepwire/idempotencyKey": "order-7"})


WAYS: Final[dict[str, Way]] = {
    "an unknown method": Way(errors.MethodNotFound, (("prompts/list", {}),)),
    "a tool without tasks": Way(errors.MethodNotFound, (_call("forbidden", task={}),), (LEGACY,)),
    "a tool that is always a task": Way(errors.MethodNotFound, (_call("required"),), (LEGACY,)),
    "an integer of 19 digits": Way(
        errors.InvalidParams, (_call("endless", arguments={"text": "x", "tweet": 1_859_999_999_999_999_999}),)
    ),
    "bad arguments of a task": Way(errors.InvalidParams, (_call("endless", arguments={}, task={}),), (LEGACY,)),
    "an unknown tool": Way(errors.UnknownTool, (_call("nobody"),)),
    "an unknown task": Way(errors.UnknownTask, (("tasks/get", {"taskId": "nobody-knows-it"}),)),
    "the result of an unknown task": Way(errors.UnknownTask, (("tasks/result", {"taskId": "nobody"}),), (LEGACY,)),
    "an unknown resource": Way(errors.UnknownResource, (("resources/read", {"uri": "ui://nothing"}),), (MODERN,)),
    "a resource that is not found": Way(
        errors.ResourceNotFound, (("resources/read", {"uri": "ui://nothing"}),), (LEGACY,)
    ),
    "what is no directory": Way(
        errors.NoDirectory, (("resources/directory/read", {"uri": "ui://nothing"}),), (MODERN,)
    ),
    "an invalid cursor": Way(errors.InvalidCursor, (("tools/list", {"cursor": "x"}),)),
    "an invalid requestState": Way(errors.InvalidRequestState, (_call("endless", requestState="x.y"),), (MODERN,)),
    "cancelling an ended task": Way(
        errors.TaskAlreadyEnded,
        (_call("endless", task={}), ("tasks/cancel", {"taskId": TASK}), ("tasks/cancel", {"taskId": TASK})),
        (LEGACY,),
    ),
    "a workflow that is not started": Way(errors.WorkflowNotStarted, (_call("refused"),)),
    "a workflow that is not stopped": Way(
        errors.WorkflowNotStopped, (_call("unstoppable", task={}), ("tasks/cancel", {"taskId": TASK})), (LEGACY,)
    ),
    "an internal error": Way(errors.InternalError, (_call("broken"),), is_audited=False),
    "a busy service": Way(errors.ServiceBusy, (_call("busy"),), is_audited=False),
    "a missing header": Way(errors.HeaderMismatch, (_call("with_header"),), (MODERN,)),
    "a missing capability": Way(errors.MissingClientCapability, (_call("eliciting"),), (MODERN,)),
    "a client that cannot be asked": Way(errors.ClientNotCapable, (_call("eliciting"),), (LEGACY,)),
    "a result that takes too long": Way(
        errors.TaskStillRunning, (_call("endless", task={}), ("tasks/result", {"taskId": TASK})), (LEGACY,)
    ),
    "too many tasks": Way(errors.LimitReached, (_call(AT_THE_LIMIT),)),
    "too many polls": Way(errors.TooManyPolls, (("tasks/get", {"taskId": POLLED_TOO_OFTEN}),), is_audited=False),
    "a key with other arguments": Way(errors.IdempotencyKeyReused, (_keyed("a"), _keyed("b"))),
    "a missing scope": Way(errors.InsufficientScope, (_call("costly"),)),
    "an error of the workflow": Way(errors.WorkflowError, (_call("failing"),), is_audited=False),
    **{title: way for part in parts("ways") for title, way in part.WAYS.items()},
}

BEFORE_THE_MESSAGE: Final = {
    errors.ParseError: "the libraries send JSON",
    errors.OriginNotAllowed: "sent by web pages only",
    errors.HttpMethodNotAllowed: "each library gets it for its first GET, and expects it",
    errors.UnknownPath: "the URL is wrong, so no session was opened",
    errors.UnknownSession: "the answer that makes a client open another session (L10)",
    errors.NotAcceptable: "the libraries take JSON and events",
    errors.BodyTooLarge: "a body over 1 MiB is not read, so its id is not known",
    errors.UnsupportedMediaType: "the libraries send JSON that is not compressed",
    errors.UnclearId: "the libraries send one id",
    errors.NotSignedIn: "the endpoint is configured wrongly, so no session was opened",
    errors.InvalidToken: "the sign-in decides before the message is read, and 401 makes a client sign in (F5)",
    errors.IncompleteIdentity: "the sign-in decides before the message is read, so no session was opened",
    errors.CallerBlocked: "an operator has blocked the caller, who is refused before the message is read",
    errors.UnsupportedProtocolVersion: "each library uses the agreed version",
}
"""Refused before the message is parsed; these have their own HTTP statuses in both eras."""

AFTER_GIVING_UP: Final = {
    errors.RequestCancelled: "ends a stream whose client no longer waits; tests/clients shows that it harms no session"
}
"""Never sent to a caller."""

OF_EXTRAS: Final = frozenset[type[ProtocolError]]().union(*(part.OTHERS for part in parts("ways")))

OF_URLS: Final = frozenset({errors.UnknownSelection})
"""Of the endpoint's URL, and so the same for each library: tests/server/test_groups.py has them."""


def leaves(error: type[ProtocolError] = ProtocolError) -> set[type[ProtocolError]]:
    """Return the errors of the tree without subclasses, and those that are raised themselves."""
    children = error.__subclasses__()
    below = set[type[ProtocolError]]().union(*map(leaves, children))
    return below if children else {error}
