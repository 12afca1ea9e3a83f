"""Every message takes one road: its headers and its body are read once, and one `Call` is made of them."""

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType

import pytest

from tests.kits import World
from tests.server.answers import Answer
from tests.server.anything import ACCEPT, SESSION_ID, STREAM, TASK_ID, lively
from tests.server.clients import TASKS_CAPABILITY, Door, LegacyClient, ModernClient

# The functions that are called once per message, by their files.
STEPS = {
    "headers.py": "headers_of",
    "json_text.py": "examine",
    "messages.py": "message_of",
    "mcp_server.py": "_call",
}
ALL = Counter(STEPS.values())
"""A session's token is JSON too, so messages in a session have one more `examine`."""
IN_SESSION = ALL + Counter(["examine"])

MESSAGES: dict[str, tuple[Callable[[World], Answer], Counter[str]]] = {
    "a legacy request": (lambda at: LegacyClient(at).ask("tools/list"), ALL),
    "a legacy request in a session": (lambda at: LegacyClient(at, session=SESSION_ID).ask("ping"), IN_SESSION),
    "a modern request": (lambda at: ModernClient(at).ask("tools/list"), ALL),
    "a modern request about a task": (
        lambda at: ModernClient(at, capabilities=TASKS_CAPABILITY).ask("tasks/get", {"taskId": TASK_ID}),
        ALL,
    ),
    "a notification": (lambda at: LegacyClient(at).notify("notifications/initialized"), ALL),
    "a response": (lambda at: LegacyClient(at).respond({"id": f"{TASK_ID}.9"}, result=ACCEPT), ALL),
    "an unknown legacy method": (lambda at: LegacyClient(at).ask("no/such"), ALL),
    "an unknown modern method": (lambda at: ModernClient(at).ask("no/such"), ALL - Counter(["_call"])),
    "two messages": (
        lambda at: Door(at).send([], {"content-type": "application/json"}),
        Counter(["headers_of", "examine"]),
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_each_step_is_taken_once(name: str) -> None:
    world = lively()
    send, expected = MESSAGES[name]

    assert steps_of(lambda: send(world)) == expected


def test_a_resumption_reads_its_headers_once_and_no_body() -> None:
    client = LegacyClient(lively(), session=SESSION_ID)

    steps = steps_of(lambda: client.resume(STREAM.last_event_id, opened_by=STREAM.request))

    # The session's token and the event id are JSON.
    assert steps == Counter({"headers_of": 1, "_call": 1, "examine": 2})


def steps_of(send: Callable[[], Answer]) -> Counter[str]:
    """Count how often each step is taken while a client sends a message."""
    steps: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and STEPS.get(code.co_filename.rpartition("/")[2]) == code.co_name:
            steps[code.co_name] += 1

    sys.setprofile(count)
    try:
        send()
    finally:
        sys.setprofile(None)
    return steps
