"""A client for MCP tasks: typed, asynchronous, for 2025-11-25 and 2026-07-28, on the official library `mcp`.

It knows nothing of the server but MCP, so any server with tasks will do, and servers without tasks too. It imports
nothing of Stepwire's layer. `connect` is the way in; `errors` has the tree of errors, `states` what a task may show.
"""

from stepwire_client.callbacks import Callbacks
from stepwire_client.client import TaskClient, connect
from stepwire_client.errors import (
    Busy,
    CallFailed,
    NotConnected,
    NotOffered,
    NotUnderstood,
    Refused,
    SignInNeeded,
    TaskCancelled,
    TaskClientError,
    Unanswered,
    UnknownTask,
)
from stepwire_client.pace import Clock, Pace
from stepwire_client.states import (
    Cancelled,
    Completed,
    Ended,
    Failed,
    InputRequired,
    ListedTask,
    Listing,
    Task,
    Working,
)

__all__ = [
    "Busy",
    "CallFailed",
    "Callbacks",
    "Cancelled",
    "Clock",
    "Completed",
    "Ended",
    "Failed",
    "InputRequired",
    "ListedTask",
    "Listing",
    "NotConnected",
    "NotOffered",
    "NotUnderstood",
    "Pace",
    "Refused",
    "SignInNeeded",
    "Task",
    "TaskCancelled",
    "TaskClient",
    "TaskClientError",
    "Unanswered",
    "UnknownTask",
    "Working",
    "connect",
]
