"""Everything that Stepwire raises, each error with what the client sees of it.

    StepwireError
    ├── ProtocolError                  answered as a JSON-RPC error: code, HTTP status, data
    │   ├── ParseError                 -32700  the body is not JSON
    │   ├── InvalidRequest             -32600  the body is not one JSON-RPC request or notification
    │   │   ├── OriginNotAllowed               HTTP 403
    │   │   ├── HttpMethodNotAllowed           HTTP 405
    │   │   ├── UnknownSession                 HTTP 404
    │   │   ├── NotAcceptable                  HTTP 406
    │   │   ├── BodyTooLarge                   HTTP 413
    │   │   ├── UnsupportedMediaType           HTTP 415
    │   │   ├── UnclearId                      the id is given twice
    │   │   └── ClientNotCapable               2025-11-25: the tool needs what the client has not declared
    │   ├── MethodNotFound             -32601
    │   ├── InvalidParams              -32602
    │   │   ├── UnknownTool
    │   │   ├── UnknownTask                    unknown, expired, foreign and malformed alike
    │   │   ├── InvalidCursor
    │   │   ├── InvalidRequestState            tampered with, expired, used, or another call's
    │   │   └── TaskAlreadyEnded               a legacy cancel that came too late
    │   ├── InternalError              -32603
    │   │   ├── WorkflowNotStarted
    │   │   └── NotSignedIn                    HTTP 401
    │   ├── HeaderMismatch             -32020
    │   ├── MissingClientCapability    -32021
    │   ├── UnsupportedProtocolVersion -32022
    │   ├── TaskStillRunning           -31001  our own: the wait was too short
    │   ├── LimitReached               -31002  our own: the caller does too much at once; HTTP 429
    │   │   └── TooManyPolls
    │   ├── IdempotencyKeyReused       -31003  our own: the key stands for another call
    │   ├── AccessDenied               -31004  our own: the sign-in is not enough; HTTP 403
    │   │   ├── InvalidToken                   HTTP 401
    │   │   ├── InsufficientScope              a scope is missing
    │   │   └── IncompleteIdentity             a claim is missing that names the caller
    │   └── WorkflowError                      the code that a workflow chose to end its task with
    ├── CatalogError                   a manifest cannot be served; for the operator
    ├── TaskExists                     a port's: the id is taken
    ├── NotAdmitted                    a port's: the caller is at a limit
    ├── SaveConflict                   a port's: somebody else saved first
    ├── StoreBusy                      a port's: the store gives no answer now
    ├── StartRefused                   a port's: Step Functions will not run it
    │   └── StartRefusedForNow             ... because too much is going on (AtQuota)
    ├── StartUnclear                   a port's: Step Functions may or may not have begun
    │   └── StartThrottled                 ... because too much is going on (AtQuota)
    ├── WorkflowsUnavailable           a port's: Step Functions gives no answer
    │   └── WorkflowsThrottled             ... because it is asked too often (AtQuota)
    └── AtQuota                        a port's: a quota of Step Functions is used up for now; no fault
        └── StopThrottled                  an execution was not stopped for that

A message says what is wrong and what would be right; it never carries the text of another exception. A wrong answer to
a question is no error: the question is asked again (`stepwire.dialogue`).
"""

from collections.abc import Mapping
from math import ceil
from typing import Any, ClassVar, Final


class StepwireError(Exception):
    """Base of every error that Stepwire raises."""


class ProtocolError(StepwireError):
    """Answered to the client as a JSON-RPC error.

    `status` is the HTTP status in the modern era, and in both eras of what is refused before the message is understood:
    by the Origin, the sign-in, the HTTP method, a header, the size, the JSON, the envelope, the session, the version.
    `legacy_status` is that of every request of 2025-11-25 and before that was understood. No error may have another:
    `mcp` 1.30 closes its session, with all other calls in it, on any status of 400 and above but 404.
    """

    code: int
    status: ClassVar[int] = 400
    legacy_status: Final = 200
    headers: Mapping[str, str] = {}

    def __init__(self, message: str, data: Any = None) -> None:
        """Keep what goes on the wire."""
        super().__init__(message)
        self.message = message
        self.data = data


class ParseError(ProtocolError):
    """The body is not JSON."""

    code = -32700


class InvalidRequest(ProtocolError):
    """The body is not one JSON-RPC request or notification, or came in a way that HTTP does not allow."""

    code = -32600


class OriginNotAllowed(InvalidRequest):
    """A web page that is not on the list tried to call."""

    status = 403


class HttpMethodNotAllowed(InvalidRequest):
    """Only POST carries messages, and GET goes on with a response that is not whole yet."""

    status = 405
    headers: Mapping[str, str] = {"allow": "POST"}


class UnknownSession(InvalidRequest):
    """The session's id is none of ours; clients answer by opening another (L10)."""

    status = 404


class NotAcceptable(InvalidRequest):
    """The client does not take JSON."""

    status = 406


class BodyTooLarge(InvalidRequest):
    """The body is over the limit."""

    status = 413


class UnsupportedMediaType(InvalidRequest):
    """The body does not say that it is JSON, or is encoded, such as with gzip."""

    status = 415
    headers: Mapping[str, str] = {"accept-encoding": "identity"}


class UnclearId(InvalidRequest):
    """The message has two ids, so nobody can say which request is answered."""


class ClientNotCapable(InvalidRequest):
    """The tool needs something of the client that it has not declared; 2025-11-25 has no error of its own for it."""


class MethodNotFound(ProtocolError):
    """The method does not exist in this era, or not for this tool."""

    code = -32601
    status = 404


class InvalidParams(ProtocolError):
    """The parameters are not what the method takes."""

    code = -32602


class UnknownTool(InvalidParams):
    """No tool has that name."""


class UnknownTask(InvalidParams):
    """No such task for this caller; the same answer for unknown, expired, foreign and malformed ids (X28)."""

    def __init__(self) -> None:
        """Say nothing that tells one case from another."""
        super().__init__("Task not found: it never existed, or it has expired. Call the tool again for a new one.")


class InvalidCursor(InvalidParams):
    """The cursor is not one that we gave out."""

    def __init__(self) -> None:
        """Say what to do instead."""
        super().__init__("The cursor is not valid. Leave it out to begin with the first page.")


class InvalidRequestState(InvalidParams):
    """A requestState cannot be gone on with (M45)."""


class TaskAlreadyEnded(InvalidParams):
    """T22: in legacy, a finished task cannot be cancelled."""

    def __init__(self) -> None:
        """Say what is left to do."""
        super().__init__("The task has already ended and cannot be cancelled; tasks/get tells how it ended.")


class InternalError(ProtocolError):
    """Our fault, or AWS's."""

    code = -32603
    # The specification names no status; the Python SDK's server uses 200 (G), and clients read the body only then.
    status = 200


class WorkflowNotStarted(InternalError):
    """The state machine could not be started; there is no task."""


class NotSignedIn(InternalError):
    """The stack asks for sign-in, and the request came without: the endpoint is wired wrongly."""

    status = 401


class HeaderMismatch(ProtocolError):
    """A header is missing, malformed, or differs from the body."""

    code = -32020


class MissingClientCapability(ProtocolError):
    """The request needs something that the client did not declare."""

    code = -32021

    def __init__(self, message: str, required: Mapping[str, Any]) -> None:
        """Name the capabilities in the shape in which a client declares them."""
        super().__init__(message, {"requiredCapabilities": required})


class UnsupportedProtocolVersion(ProtocolError):
    """The client speaks a version that we do not."""

    code = -32022

    def __init__(self, requested: str, supported: tuple[str, ...]) -> None:
        """Name both sides' versions."""
        message = f"Protocol version {requested[:40]!r} is not supported; supported: {', '.join(supported)}."
        super().__init__(message, {"supported": list(supported), "requested": requested[:200]})


class TaskStillRunning(ProtocolError):
    """`tasks/result` waited as long as it may, and the task goes on; call again.

    The code lies outside the range that JSON-RPC reserves (M27).
    """

    code = -31001
    status = 200


class LimitReached(ProtocolError):
    """The caller is at a limit of ours; the message names it, and says when to try again."""

    code = -31002
    status = 429

    def __init__(self, message: str, limit: str, retry_after: float) -> None:
        """Keep what goes on the wire.

        Args:
            message: says which limit, and what to do.
            limit: its name.
            retry_after: seconds.
        """
        super().__init__(message, {"limit": limit, "retryAfterMs": ceil(retry_after * 1000)})
        self.headers = {"retry-after": str(max(1, ceil(retry_after)))}


class TooManyPolls(LimitReached):
    """One task is asked for far too often."""

    def __init__(self, retry_after: float) -> None:
        """Say when to ask again; `retry_after` is seconds."""
        super().__init__("The task is polled too often: keep to its poll interval.", "polls per second", retry_after)


class IdempotencyKeyReused(ProtocolError):
    """The idempotency key stands for a call of another tool, or with other arguments."""

    code = -31003
    status = 409


class AccessDenied(ProtocolError):
    """The caller has signed in, but not in a way that is enough."""

    code = -31004
    status = 403


class InvalidToken(AccessDenied):
    """F4: the token is good, but not for calling this server."""

    status = 401
    headers: Mapping[str, str] = {"www-authenticate": 'Bearer error="invalid_token"'}


class InsufficientScope(AccessDenied):
    """F6: the caller's token lacks a scope; the challenge names all that are needed."""

    def __init__(self, needed: tuple[str, ...], metadata_url: str) -> None:
        """Keep what goes on the wire: API Gateway renames the header, so the data say the same."""
        scope = " ".join(needed)
        message = f"Your sign-in does not allow this. Sign in again with the scopes: {scope}."
        challenge = {"error": "insufficient_scope", "scope": scope, "resource_metadata": metadata_url}
        super().__init__(message, challenge)
        parts = ", ".join(f'{key}="{value}"' for key, value in challenge.items())
        self.headers = {"www-authenticate": f"Bearer {parts}"}


class IncompleteIdentity(AccessDenied):
    """What the authorizer vouches for lacks a part that names the caller."""

    def __init__(self, missing: list[str]) -> None:
        """Name the missing claims; the values of the others are nobody's business."""
        message = f"Your sign-in does not say who you are: it has no {', '.join(missing)}."
        super().__init__(message, {"missing": missing})


class WorkflowError(ProtocolError):
    """A workflow ended its task with this JSON-RPC error on purpose."""

    status = 200

    def __init__(self, code: int, message: str, data: Any) -> None:
        """Keep the workflow's own words."""
        super().__init__(message, data)
        self.code = code


class CatalogError(StepwireError):
    """A manifest cannot be served; the message names the file and the field."""


class TaskExists(StepwireError):
    """A task with this id is already in the store."""


class NotAdmitted(StepwireError):
    """The caller is at a limit; `refusal` says at which."""

    def __init__(self, refusal: Any) -> None:
        """Keep what the store decided by (`stepwire.tasks.usage.Refusal`)."""
        super().__init__(type(refusal).__name__)
        self.refusal = refusal


class SaveConflict(StepwireError):
    """The task was saved by somebody else since it was loaded, or is gone."""


class StoreBusy(StepwireError):
    """The store has too much to do; try again."""


class StartRefused(StepwireError):
    """Step Functions certainly did not begin the execution; `reason` is fit for the client."""

    def __init__(self, reason: str) -> None:
        """Keep a reason of ours, not AWS's text."""
        super().__init__(reason)
        self.reason = reason


class AtQuota(StepwireError):
    """A quota of Step Functions is used up for now: expected at scale, counted, and no fault of anybody's."""


class StartRefusedForNow(StartRefused, AtQuota):
    """Step Functions has too much to do; later it may begin the execution."""


class StartUnclear(StepwireError):
    """No answer came: the execution may or may not have begun. Starting it again is harmless."""


class StartThrottled(StartUnclear, AtQuota):
    """A start was refused because of a quota, after a try that may have been heard."""


class StopThrottled(AtQuota):
    """An execution was not stopped; stopping it again is harmless."""


class WorkflowsUnavailable(StepwireError):
    """Step Functions gives no answer; what is recorded still holds."""


class WorkflowsThrottled(WorkflowsUnavailable, AtQuota):
    """Step Functions is asked too often; ask less."""
