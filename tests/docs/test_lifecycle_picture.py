"""The picture of a task's life is made of the lifecycle's table (`lifecycle_picture`)."""

from datetime import datetime, timedelta
from typing import Final

import pytest
from msgspec.structs import replace

from stepwire.tasks.inputs import Callback, FormElicitation, InputRequest, WorkflowInput
from stepwire.tasks.lifecycle import State, as_of, state_of
from stepwire.tasks.task import InputRequired
from tests.docs.lifecycle_picture import BY_TIME, PAGE, page_with, picture
from tests.kits import World

_FORM: Final = FormElicitation("Go on?", '{"type":"object","properties":{}}')
_DESTINATIONS: Final = {State.INPUT_REQUIRED: Callback("a token"), State.UNCONFIRMED: WorkflowInput(None)}


def test_the_page_has_the_picture_of_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page_with(picture())


@pytest.mark.parametrize("state", BY_TIME)
def test_time_leads_to_the_state_that_the_picture_shows(state: State) -> None:
    task = World().call()
    closes_at: datetime = task.created_at + timedelta(minutes=1)
    question = InputRequest("first", 1, _FORM, _DESTINATIONS[state], closes_at)
    asking = replace(task, status=InputRequired((question,)))

    assert state_of(as_of(asking, closes_at)) is BY_TIME[state]
