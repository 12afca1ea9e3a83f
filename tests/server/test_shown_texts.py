"""Texts that a person reads show their content: control and direction characters in values have no effect."""

from typing import Any, cast

import pytest

from tests.kits import FORM, OPTIONAL, World
from tests.server.answers import Json
from tests.server.clients import ASKING_CAPABILITY, LegacyClient, ModernClient

WITH_CONTROL_CHARACTERS = "5 old rows?\r\n\nApproved by IT \u202esresu lla eteleD\u202c\x07\x1b[2J"
CONTROL_CHARACTERS = ("\r", "\u202e", "\u202c", "\x07", "\x1b")
ESCAPED = r"Approved by IT \u202esresu lla eteleD\u202c\u0007\u001b[2J"


def texts_of(value: Any) -> list[str]:
    """List all texts in a JSON value."""
    match value:
        case str():
            return [value]
        case dict():
            return [text for part in cast(Json, value).values() for text in texts_of(part)]
        case list():
            return [text for part in cast(list[Any], value) for text in texts_of(part)]
        case _:
            return []


def check(value: Any) -> None:
    """Raise AssertionError if a text contains an active control character, or if no text contains the escaped value."""
    texts = texts_of(value)
    assert not [text for text in texts if any(character in text for character in CONTROL_CHARACTERS)]
    assert [text for text in texts if ESCAPED in text]


# X-M7
def test_the_confirmation_shows_the_arguments_with_control_characters_escaped(
    asking: ModernClient, world: World
) -> None:
    legacy = LegacyClient.opened(world, capabilities=ASKING_CAPABILITY)
    task_id = legacy.call("confirmed", {"text": WITH_CONTROL_CHARACTERS}, task={}).id_in("task")

    asked = asking.call("confirmed", {"text": WITH_CONTROL_CHARACTERS}).result
    waiting = legacy.task("get", task_id).result

    check(asked["inputRequests"])
    check(waiting["statusMessage"])
    assert "\n" not in asked["inputRequests"]["confirm"]["params"]["message"]


def test_a_question_is_shown_escaped_and_keeps_its_line_breaks(asking: ModernClient, world: World) -> None:
    task_id = asking.start()
    world.ask(task_id, elicitation={**FORM, "message": WITH_CONTROL_CHARACTERS})

    found = asking.task("get", task_id).result

    check(found["statusMessage"])
    message = found["inputRequests"]["approval"]["params"]["message"]
    check(message)
    assert message.startswith("5 old rows?\\u000d\n\n")


@pytest.mark.parametrize("is_legacy", [True, False])
def test_the_status_message_of_reported_progress_is_shown_escaped(world: World, *, is_legacy: bool) -> None:
    client = LegacyClient(world) if is_legacy else ModernClient(world)
    task_id = client.start()
    world.progress(task_id, 10, message=WITH_CONTROL_CHARACTERS)

    check(client.task("get", task_id).result)


def test_a_progress_notification_is_shown_escaped(world: World) -> None:
    client = ModernClient(world, capabilities=ASKING_CAPABILITY)
    world.clock.on_sleep = lambda: [
        world.progress(task.task_id, 10, message=WITH_CONTROL_CHARACTERS) for task in world.store.tasks
    ]

    answer = client.call(OPTIONAL.name, progress_token="t")

    check([event for event in answer.messages if event.get("method") == "notifications/progress"])


def test_the_cause_of_a_failure_is_shown_escaped(world: World) -> None:
    client = LegacyClient(world)
    task_id = client.start()
    world.fail(task_id, cause=WITH_CONTROL_CHARACTERS)

    check(client.task("get", task_id).result)


def test_a_wrong_argument_is_quoted_escaped(asking: ModernClient) -> None:
    answer = asking.call("optional", {"text": [WITH_CONTROL_CHARACTERS]}).result

    check(answer["content"])
