"""What a person reads of a task shows what is in it: no control or direction character of a value acts."""

from typing import Any, cast

import pytest

from tests.kits import FORM, OPTIONAL, World
from tests.server.answers import Json
from tests.server.clients import ASKING_CAPABILITY, LegacyClient, ModernClient

DRESSED = "5 old rows?\r\n\nApproved by IT \u202esresu lla eteleD\u202c\x07\x1b[2J"
ACTING = ("\r", "\u202e", "\u202c", "\x07", "\x1b")
SHOWN = r"Approved by IT \u202esresu lla eteleD\u202c\u0007\u001b[2J"


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
    """Raise AssertionError where a text in a value acts, or the dressed words are not in any."""
    texts = texts_of(value)
    assert not [text for text in texts if any(character in text for character in ACTING)]
    assert [text for text in texts if SHOWN in text]


# X-M7
def test_what_is_to_be_confirmed_is_shown_as_it_is(asking: ModernClient, world: World) -> None:
    legacy = LegacyClient.opened(world, capabilities=ASKING_CAPABILITY)
    task_id = legacy.call("confirmed", {"text": DRESSED}, task={}).id_in("task")

    asked = asking.call("confirmed", {"text": DRESSED}).result
    waiting = legacy.task("get", task_id).result

    check(asked["inputRequests"])
    check(waiting["statusMessage"])
    assert "\n" not in asked["inputRequests"]["confirm"]["params"]["message"]


def test_what_a_workflow_asks_is_shown_as_it_is_with_the_lines_of_its_author(
    asking: ModernClient, world: World
) -> None:
    task_id = asking.start()
    world.ask(task_id, elicitation={**FORM, "message": DRESSED})

    found = asking.task("get", task_id).result

    check(found["statusMessage"])
    message = found["inputRequests"]["approval"]["params"]["message"]
    check(message)
    assert message.startswith("5 old rows?\\u000d\n\n")


@pytest.mark.parametrize("is_legacy", [True, False])
def test_what_a_workflow_reports_is_shown_as_it_is(world: World, *, is_legacy: bool) -> None:
    client = LegacyClient(world) if is_legacy else ModernClient(world)
    task_id = client.start()
    world.progress(task_id, 10, message=DRESSED)

    check(client.task("get", task_id).result)


def test_words_of_progress_are_shown_as_they_are(world: World) -> None:
    client = ModernClient(world, capabilities=ASKING_CAPABILITY)
    world.clock.on_sleep = lambda: [world.progress(task.task_id, 10, message=DRESSED) for task in world.store.tasks]

    answer = client.call(OPTIONAL.name, progress_token="t")

    check([event for event in answer.messages if event.get("method") == "notifications/progress"])


def test_how_a_task_failed_is_shown_as_it_is(world: World) -> None:
    client = LegacyClient(world)
    task_id = client.start()
    world.fail(task_id, cause=DRESSED)

    check(client.task("get", task_id).result)


def test_a_wrong_argument_is_quoted_as_it_is(asking: ModernClient) -> None:
    answer = asking.call("optional", {"text": [DRESSED]}).result

    check(answer["content"])
