"""Every error that Stepwire raises, with what the client sees of it.

    StepwireError
    ├── ProtocolError                  answered as a JSON-RPC error: code, HTTP status, data
    │   ├── ParseError                 -32700  the body is not JSON
    │   ├── InvalidRequest             -32600  the body is not one JSON-RPC request or notification
    │   │   ├── OriginNotAllowed               HTTP 403
    │   │   ├── HttpMethodNotAllowed           HTTP 405
    │   │   ├── UnknownPath                    HTTP 404
    │   │   ├── UnknownSession                 HTTP 404
    │   │   ├── NotAcceptable                  HTTP 406
    │   │   ├── BodyTooLarge                   HTTP 413
    │   │   ├── UnsupportedMediaType           HTTP 415
    │   │   ├── UnclearId                      the message has two ids
    │   │   └── ClientNotCapable               2025-11-25: the tool needs a capability that the client lacks
    │   ├── MethodNotFound             -32601
    │   ├── InvalidParams              -32602
    │   │   ├── UnknownTool
    │   │   ├── UnknownSelection               the URL names a tool or a group that this caller does not have
    │   │   ├── UnknownResource
    │   │   │   └── NoDirectory                no resource below that URI
    │   │   ├── UnknownTask                    unknown, expired, foreign and malformed alike
    │   │   ├── InvalidCursor
    │   │   ├── InvalidRequestState            forged, expired, already used, or of another call
    │   │   └── TaskAlreadyEnded               legacy: the task ended before the cancel
    │   ├── InternalError              -32603
    │   │   ├── ServiceBusy                    AWS throttles this server, or does not answer; HTTP 429
    │   │   ├── WorkflowNotStarted
    │   │   ├── WorkflowNotStopped
    │   │   └── NotSignedIn                    HTTP 401
    │   ├── ResourceNotFound           -32002  before 2026-07-28: no such resource
    │   ├── those of extras                    their modules `refusals`
    │   ├── HeaderMismatch             -32020
    │   ├── MissingClientCapability    -32021
    │   ├── UnsupportedProtocolVersion -32022
    │   ├── TaskStillRunning           -31001  ours: the wait ended before the task
    │   ├── LimitReached               -31002  ours: the caller is at a limit; HTTP 429
    │   │   └── TooManyPolls
    │   ├── IdempotencyKeyReused       -31003  ours: the key belongs to another call
    │   ├── AccessDenied               -31004  ours: the sign-in is insufficient; HTTP 403
    │   │   ├── InvalidToken                   HTTP 401
    │   │   ├── InsufficientScope              a scope is missing
    │   │   ├── IncompleteIdentity             the token lacks a claim that identifies the caller
    │   │   └── CallerBlocked                  an operator has blocked the caller
    │   ├── RequestCancelled           -31005  ours: ends the stream of a request that its client has cancelled
    │   └── WorkflowError                      the error with which the workflow ended its task
    ├── CatalogError                   a manifest is not valid; for the operator
    ├── TaskExists                     port: the task id is taken
    ├── SaveConflict                   port: another writer saved first
    ├── StoreBusy                      port: the store does not answer; retry
    ├── PartMissing                    port: somebody deleted a part of a task
    ├── StartRefused                   port: Step Functions refused the start
    │   └── StartRefusedForNow             ... because of a quota (AtQuota); retry
    ├── StartUnclear                   port: the execution may or may not have started
    │   ├── NoEndInTime                    ... an EXPRESS execution took longer than its request waits
    │   └── StartThrottled                 ... because of a quota (AtQuota)
    ├── RedriveRefused                 port: Step Functions does not redrive the execution
    ├── WakeUpsUnavailable             port: a wake-up could not be scheduled
    ├── ObjectUnreadable               an object in S3 cannot be an output
    ├── CommandRefused                 what an operator commands is not done, with the reason
    │   └── NotFollowedUp              their redrive makes no task
    ├── ForeignQuestion                a state machine of another account or Region asks, which is not supported
    ├── NotRecorded                    a question could not be recorded now; its state may be retried
    ├── StarterUnproven                port: the history of an execution's starter does not have its start (yet)
    ├── NeedsOperator                  an owner's policy denies this server something; not a fault
    │   └── StopRefused                    port: this server may not stop the execution
    ├── WorkflowsUnavailable           port: Step Functions does not answer
    │   ├── KeyDenied                      ... because of the state machine's key (NeedsOperator)
    │   ├── RoleDenied                     ... because of its role elsewhere (NeedsOperator)
    │   ├── ObjectsUnavailable             port: S3 does not answer
    │   │   └── LargeResultsDenied             ... because the bucket of large results is denied (NeedsOperator)
    │   └── WorkflowsThrottled             ... because of a quota (AtQuota)
    └── AtQuota                        port: a quota of Step Functions is exhausted; not a fault
        └── StopThrottled                  the execution was not stopped

A message says what is wrong and what would be right; it never contains the text of another exception. A wrong answer to
a question is not an error: the question is asked again (`stepwire.engine.answers`).
"""

from collections.abc import Collection, Mapping
from math import ceil
from typing import Any, ClassVar, Final

# API Gateway renames a function's www-authenticate; from this header, parameter mapping can make it again.
CHALLENGE_HEADER: Final = "stepwire-challenge"
_MOST_NAMED: Final = 20
_NO_RESOURCE: Final = "Unknown resource. resources/list names the resources there are."


class StepwireError(Exception):
    """Base of every error that Stepwire raises."""


class ProtocolError(StepwireError):
    """An error that the client receives as a JSON-RPC error.

    `status` is the HTTP status in the modern era, and in both eras of a request that is refused before its message is
    understood: for its Origin, sign-in, HTTP method, headers, size, JSON, envelope, session or version.
    `legacy_status` is the HTTP status of every other error in the legacy era. It must be 200: on any status of 400 and
    above except 404, `mcp` 1.30 closes its session and fails all calls in it.
    """

    code: int
    status: ClassVar[int] = 400
    legacy_status: Final = 200
    headers: Mapping[str, str] = {}
    words: ClassVar[str] = ""
    """The message of an error that always has the same."""

    def __init__(self, message: str = "", data: Any = None) -> None:
        """Keep what goes on the wire."""
        self.message = message or self.words
        super().__init__(self.message)
        self.data = data


class ParseError(ProtocolError):
    """The body is not JSON."""

    code = -32700


class InvalidRequest(ProtocolError):
    """The body is not one JSON-RPC request or notification, or the HTTP request is not acceptable."""

    code = -32600


class OriginNotAllowed(InvalidRequest):
    """The request comes from a web page whose origin is not allowed."""

    status = 403


class HttpMethodNotAllowed(InvalidRequest):
    """Only POST carries messages; GET only resumes an SSE response."""

    status = 405
    headers: Mapping[str, str] = {"allow": "POST"}


class UnknownPath(InvalidRequest):
    """What follows the endpoint's path is not names and values of its URL's parameters."""

    status = 404


class UnknownSession(InvalidRequest):
    """The session id is not valid; clients react by opening a new session (L10)."""

    status = 404


class NotAcceptable(InvalidRequest):
    """The client does not accept JSON."""

    status = 406


class BodyTooLarge(InvalidRequest):
    """The body is over the limit."""

    status = 413


class UnsupportedMediaType(InvalidRequest):
    """The content type is not JSON, or the body has a content encoding such as gzip."""

    status = 415
    headers: Mapping[str, str] = {"accept-encoding": "identity"}


class UnclearId(InvalidRequest):
    """The message has two ids, so no response can be matched to it."""


class ClientNotCapable(InvalidRequest):
    """The tool needs a capability that the client has not declared; 2025-11-25 has no specific error for this."""


class MethodNotFound(ProtocolError):
    """The method does not exist in this era, or not for this tool."""

    code = -32601
    status = 404


class InvalidParams(ProtocolError):
    """The parameters are not valid for the method."""

    code = -32602


class UnknownTool(InvalidParams):
    """No tool has that name, or none that the URL selects."""

    def __init__(self, name: str, listed_by: str = "tools/list") -> None:
        """Name the tool, cut to a bounded length, and what lists those that there are."""
        super().__init__(f"Unknown tool {name[:80]!r}. {listed_by} names the tools there are.")


class UnknownSelection(InvalidParams):
    """The URL names a tool or a group that this caller does not have."""

    def __init__(self, tools: Collection[str], groups: Collection[str], usable: Collection[str]) -> None:
        """Name what is wrong, and the groups that the caller can name; at most _MOST_NAMED of each."""
        wrong = {"tools": _some_of(tools), "groups": _some_of(groups)}
        words = " and ".join(f"{kind} {', '.join(map(repr, names))}" for kind, names in wrong.items() if names)
        shown = _some_of(usable)
        super().__init__(
            f"The URL of this server names {words}, which you do not have here. "
            f"Groups that you can name: {', '.join(shown) or 'none'}.",
            {"unknown": wrong, "groups": shown},
        )


class UnknownResource(InvalidParams):
    """No resource has that URI."""

    words = _NO_RESOURCE

    def __init__(self, uri: str) -> None:
        """Name the URI, cut to a bounded length."""
        super().__init__(self.words, {"uri": uri[:200]})


class NoDirectory(UnknownResource):
    """No resource is below that URI, so it is no directory."""

    words = "This URI is no directory. A directory is a URI that others begin with, written without a slash at its end."


class ResourceNotFound(ProtocolError):
    """The same before 2026-07-28, where it has a code of its own."""

    code = -32002

    def __init__(self, uri: str) -> None:
        """Name the URI, cut to a bounded length."""
        super().__init__(_NO_RESOURCE, {"uri": uri[:200]})


class UnknownTask(InvalidParams):
    """No such task for this caller; the same answer for unknown, expired, foreign and malformed ids (X28)."""

    words = "Task not found: it never existed, or it has expired. Call the tool again for a new one."


class InvalidCursor(InvalidParams):
    """The cursor was not issued by this server."""

    words = "The cursor is not valid. Leave it out to begin with the first page."


class InvalidRequestState(InvalidParams):
    """The requestState is not valid, so the call cannot be continued (M45)."""


class TaskAlreadyEnded(InvalidParams):
    """T22: in the legacy era, a finished task cannot be cancelled."""

    words = "The task has already ended and cannot be cancelled; tasks/get tells how it ended."


class InternalError(ProtocolError):
    """A fault of this server or of AWS."""

    code = -32603
    # The specification names no status; the Python SDK's server uses 200 (G), and clients read the body only then.
    status = 200


class ServiceBusy(InternalError):
    """AWS throttles this server or does not answer, and that passes: the request may be sent again.

    No released client retries by itself, whatever the status. 429 is what those that a limit refuses get too, and what
    general HTTP clients, proxies and `stepwire` retry after `retry-after`. 200 in the legacy era, as of all errors.
    """

    status = 429

    def __init__(self, retry_after: float = 2) -> None:
        """Say when to send the request again; `retry_after` is in seconds."""
        super().__init__(
            "The server is too busy to answer now. Nothing is lost: send the request again in some seconds.",
            {"retryAfterMs": ceil(retry_after * 1000)},
        )
        self.headers = {"retry-after": str(max(1, ceil(retry_after)))}


class WorkflowNotStarted(InternalError):
    """The state machine could not be started, so no task was created."""


class WorkflowNotStopped(InternalError):
    """The execution could not be stopped, so the task goes on."""


class NotSignedIn(InternalError):
    """The stack requires sign-in, but the request has no identity: the route has no authorizer."""

    status = 401


class HeaderMismatch(ProtocolError):
    """A header is missing, malformed, or differs from the body."""

    code = -32020


class MissingClientCapability(ProtocolError):
    """The request needs a capability that the client did not declare."""

    code = -32021

    def __init__(self, message: str, required: Mapping[str, Any]) -> None:
        """Name the capabilities in the form in which a client declares them."""
        super().__init__(message, {"requiredCapabilities": required})


class UnsupportedProtocolVersion(ProtocolError):
    """The client uses a protocol version that this server does not support."""

    code = -32022

    def __init__(self, requested: str, supported: tuple[str, ...]) -> None:
        """Name the requested version and the supported ones."""
        message = f"Protocol version {requested[:40]!r} is not supported; supported: {', '.join(supported)}."
        super().__init__(message, {"supported": list(supported), "requested": requested[:200]})


class TaskStillRunning(ProtocolError):
    """`tasks/result` reached its longest wait and the task still runs; call again.

    The code lies outside the range that JSON-RPC reserves (M27).
    """

    code = -31001
    status = 200


class LimitReached(ProtocolError):
    """The caller is at a limit; the message names it and says when to retry."""

    code = -31002
    status = 429

    def __init__(self, message: str, limit: str, retry_after: float) -> None:
        """Keep what goes on the wire; a retry may succeed after `retry_after` seconds."""
        super().__init__(message, {"limit": limit, "retryAfterMs": ceil(retry_after * 1000)})
        self.headers = {"retry-after": str(max(1, ceil(retry_after)))}


class TooManyPolls(LimitReached):
    """The caller polls one task much faster than its poll interval."""

    def __init__(self, retry_after: float) -> None:
        """Say when to poll again; `retry_after` is in seconds."""
        super().__init__("The task is polled too often: keep to its poll interval.", "polls per second", retry_after)


class IdempotencyKeyReused(ProtocolError):
    """The idempotency key was used for another tool or with other arguments."""

    code = -31003
    status = 409


class AccessDenied(ProtocolError):
    """The caller has signed in, but the sign-in is insufficient."""

    code = -31004
    status = 403


class InvalidToken(AccessDenied):
    """F4: the token is valid, but not an access token for this server."""

    status = 401
    headers: Mapping[str, str] = {"www-authenticate": 'Bearer error="invalid_token"'}


class InsufficientScope(AccessDenied):
    """F6: the caller's token lacks a scope; the challenge names all required scopes."""

    def __init__(self, needed: tuple[str, ...], metadata_url: str) -> None:
        """Build the challenge, as data and in two headers, because API Gateway renames the first one."""
        scope = " ".join(needed)
        message = f"Your sign-in does not allow this. Sign in again with the scopes: {scope}."
        challenge = {"error": "insufficient_scope", "scope": scope, "resource_metadata": metadata_url}
        super().__init__(message, challenge)
        parts = ", ".join(f'{key}="{value}"' for key, value in challenge.items())
        self.headers = dict.fromkeys(("www-authenticate", CHALLENGE_HEADER), f"Bearer {parts}")


class IncompleteIdentity(AccessDenied):
    """The verified token lacks a claim that identifies the caller."""

    def __init__(self, missing: list[str]) -> None:
        """Name the missing claims, and no values of the others."""
        message = f"Your sign-in does not say who you are: it has no {', '.join(missing)}."
        super().__init__(message, {"missing": missing})


class CallerBlocked(AccessDenied):
    """An operator has blocked the caller."""

    def __init__(self, *, is_first: bool = True) -> None:
        """Say whom to ask, and nothing of the reason."""
        super().__init__("You may not use this endpoint at present. Ask whoever runs it.")
        self.is_first = is_first
        """Whether this process has not refused the caller lately: only then is it audited."""


class RequestCancelled(ProtocolError):
    """The client has cancelled this request, and still resumes its response."""

    code = -31005
    status = 200


class WorkflowError(ProtocolError):
    """The workflow deliberately ended its task with this JSON-RPC error."""

    status = 200

    def __init__(self, code: int, message: str, data: Any) -> None:
        """Pass on the workflow's code, message and data."""
        super().__init__(message, data)
        self.code = code


class CatalogError(StepwireError):
    """A manifest is not valid; the message names the file and the field."""


class TaskExists(StepwireError):
    """A task with this id is already in the store."""


class SaveConflict(StepwireError):
    """Another writer saved or deleted the task after it was loaded."""


class StoreBusy(StepwireError):
    """The store is overloaded or does not answer; retry."""


class PartMissing(StepwireError):
    """A part of a task is gone that its head names: somebody deleted it from the table, or from the bucket."""


class _WithReason(StepwireError):
    def __init__(self, reason: str) -> None:
        """Keep what is wrong, and what would be right, in our words; never AWS's text."""
        super().__init__(reason)
        self.reason = reason


class StartRefused(_WithReason):
    """Step Functions did not start the execution; `reason` is safe to send to the client."""


class AtQuota(StepwireError):
    """A quota of Step Functions is exhausted: expected at scale, counted by a metric, and not a fault."""


class StartRefusedForNow(StartRefused, AtQuota):
    """Step Functions did not start the execution because of a quota; a later retry may succeed."""


class StartUnclear(StepwireError):
    """No response arrived: the execution may or may not have started. A retry is safe: starting is idempotent."""


class NoEndInTime(StartUnclear):
    """An EXPRESS execution took longer than its request waits: the workflow's own matter, and no fault."""


class StartThrottled(StartUnclear, AtQuota):
    """A start was throttled after an earlier attempt that may have succeeded."""


class RedriveRefused(StepwireError):
    """Step Functions does not redrive the execution: it has no failed state to go on from, or is too old."""


class CommandRefused(_WithReason):
    """What an operator commands is not done; `reason` is for the operator, with no data of the caller."""


class NotFollowedUp(CommandRefused):
    """An operator's redrive makes no task."""


class WakeUpsUnavailable(StepwireError):
    """A wake-up could not be scheduled: the next reader or the sweep begins the attempt."""


class StopThrottled(AtQuota):
    """An execution was not stopped because of a quota. A retry is safe: stopping is idempotent."""


class WorkflowsUnavailable(StepwireError):
    """Step Functions does not answer; the recorded state of the task stays valid."""


class ObjectUnreadable(StepwireError):
    """An object in S3 cannot be an output; the message says why, without any part of its name or its content."""


class ObjectsUnavailable(WorkflowsUnavailable):
    """S3 does not answer; the recorded state of the task stays valid."""


class NeedsOperator(StepwireError):
    """An owner's policy denies this server something: logged for the operator, and no fault of a release."""


class KeyDenied(WorkflowsUnavailable, NeedsOperator):
    """The key that encrypts a state machine may not be used, or is disabled: its operator must mend that."""


class LargeResultsDenied(ObjectsUnavailable, NeedsOperator):
    """The bucket of large results, or its key, may not be used, or is gone: the stack's operator must mend that."""


class ForeignQuestion(StepwireError):
    """A state machine of another account or Region asks a question, which is not supported; its state fails."""


class NotRecorded(StepwireError):
    """A question of a workflow could not be recorded; the state that asks it may be retried."""

    def __init__(self) -> None:
        """Say what the author of the workflow can do; callers may read it too."""
        super().__init__("The question could not be recorded now. A Retry of the state asks it again.")


# Step Functions shows a state the name of the class as the error's name.
NotRecorded.__name__ = "Stepwire.NotRecorded"


class StarterUnproven(StepwireError):
    """An execution names a starter whose history does not have its start: not yet, or it was never so."""


class RoleDenied(WorkflowsUnavailable, NeedsOperator):
    """The role of a state machine of another account or Region may not be assumed."""


class StopRefused(_WithReason, NeedsOperator):
    """Step Functions did not stop the execution; `reason` is safe to send to the client."""


class WorkflowsThrottled(WorkflowsUnavailable, AtQuota):
    """Step Functions throttles reads or does not answer them; call it less often."""


def _some_of(names: Collection[str]) -> list[str]:
    return [name[:80] for name in sorted(names)[:_MOST_NAMED]]
