"""What the server says to the card, for hosts that follow a script: the shapes of docs/extras/cards.md."""

from typing import Any, Final

TASK_ID: Final = "task-1"
NOW: Final = "2026-11-22T10:01:12Z"
FIRST: Final[dict[str, Any]] = {
    "content": [{"type": "text", "text": "A card shows the user this task. Do not poll it."}],
    "structuredContent": {"stepwire/task": {"taskId": TASK_ID, "status": "working"}},
    "_meta": {"stepwire/card": {"taskId": TASK_ID}},
}
"""The result of the tool itself, while its task runs."""
LIGHT: Final = {"theme": "light", "locale": "en-US"}
DARK: Final = {"theme": "dark", "locale": "en-US"}
SECRET: Final = "one-time-token"


def view(status: str = "working", **more: Any) -> dict[str, Any]:
    """Return the result of a tool of the card, with the token of each question."""
    ended = status in {"completed", "failed", "cancelled"}
    data: dict[str, Any] = {
        "taskId": TASK_ID,
        "tool": "approve_refund",
        "title": "Approve a refund",
        "status": status,
        "createdAt": "2026-11-22T10:00:00Z",
        "lastUpdatedAt": "2026-11-22T10:01:10Z",
        "now": NOW,
        "questions": [],
        **({"endedAt": "2026-11-22T10:01:10Z"} if ended else {"pollIntervalMs": 2000}),
        **more,
    }
    tokens = {one["key"]: f"{SECRET} for {one['key']}" for one in data["questions"]}
    words = [{"type": "text", "text": f"The task is {status}."}]
    return {
        "content": words,
        "structuredContent": data,
        "_meta": {"stepwire/card": {"taskId": TASK_ID, "tokens": tokens}},
    }


def refused(words: str) -> dict[str, Any]:
    """Return a result that says no, such as for a foreign task."""
    return {"content": [{"type": "text", "text": words}], "isError": True}


def asks(properties: dict[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    """Return a question with a form."""
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {
        "key": "approval",
        "message": "May we refund order A-1042?",
        "mode": "form",
        "requestedSchema": schema,
        "attempt": 1,
        **more,
    }


def asking(*questions: dict[str, Any]) -> dict[str, Any]:
    """Return the view of a task that waits for answers."""
    return view("input_required", questions=list(questions), states=["CheckOrder", "AskForApproval"])


def done(**result: Any) -> dict[str, Any]:
    """Return the view of a task with its result."""
    return view("completed", result={"content": [], **result}, states=["CheckOrder", "AskForApproval", "Refund"])


APPROVAL: Final = asks(
    {
        "approve": {"type": "boolean", "title": "Approve the refund"},
        "amount": {"type": "number", "title": "Amount", "minimum": 1, "maximum": 100, "default": 49.5},
        "note": {"type": "string", "title": "Note", "description": "The customer reads it.", "maxLength": 200},
    },
    "approve",
    "amount",
)
"""The question of a typical workflow."""
ORDERS: Final = {
    "refundId": "R-7",
    "refunded": True,
    "at": "2026-11-22T10:01:09Z",
    "orders": [
        {"orderId": "A-1042", "amount": 49.5, "state": "refunded"},
        {"orderId": "A-1043", "amount": 12, "state": "open", "items": [{"sku": "X1", "count": 2}]},
    ],
    "customer": {"name": "Ada", "page": "https://example.com/customers/7"},
}
"""A result with a table in it."""
