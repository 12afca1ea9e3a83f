"""States that ask through Stepwire: each says whether its question is asked again when it could not be recorded."""

from typing import Any, Final

import pytest

from packages.wrap.tests.samples import ARN, in_jsonata, machine, task
from stepwire.json_text import JsonObject, as_object
from stepwire_wrap.definitions.asking import RETRY
from stepwire_wrap.definitions.drafts import History, Machine, draft
from stepwire_wrap.definitions.hints import hints_of

RESOURCE: Final = "lambda:invoke.waitForTaskToken"
PAYLOAD: Final[JsonObject] = {"execution_arn.$": "$$.Execution.Id", "task_token.$": "$$.Task.Token", "key": "k"}
HOPELESS: Final = as_object(RETRY[0])
LASTING: Final = as_object(RETRY[1])
LACKS: Final = "has no Retry for a question that could not be recorded (Stepwire.NotRecorded)"


def asking(kind: str = "elicitation.$", **more: Any) -> JsonObject:
    return task(resource=RESOURCE, Parameters={"Payload": {**PAYLOAD, kind: "$.asked"}}, **more)


def found_in(definition: JsonObject) -> list[str]:
    return [one.what for one in hints_of(definition, ())]


@pytest.mark.parametrize(
    ("retriers", "lack"),
    [
        (RETRY, None),
        ([HOPELESS, {**LASTING, "ErrorEquals": ["Stepwire.NotRecorded"]}], None),
        ([{**LASTING, "ErrorEquals": ["Stepwire.NotRecorded"]}], None),
        ([HOPELESS, {"ErrorEquals": ["States.ALL"], "IntervalSeconds": 10, "MaxAttempts": 5}], None),
        ([HOPELESS, {**LASTING, "MaxAttempts": "${Attempts}"}], None),
        ([], LACKS),
        ([{"ErrorEquals": ["Lambda.ServiceException"], "MaxAttempts": 9}], LACKS),
        ([HOPELESS, {**LASTING, "MaxAttempts": 0}], LACKS),
        ([HOPELESS, {"ErrorEquals": ["States.TaskFailed"]}],
         "tries again for 7 seconds only if its question could not be recorded (Stepwire.NotRecorded)"),
        ([HOPELESS, {"ErrorEquals": ["Stepwire.NotRecorded"], "MaxAttempts": 1}, LASTING],
         "tries again for 1 second only if its question could not be recorded (Stepwire.NotRecorded)"),
        ([HOPELESS, {**LASTING, "MaxAttempts": 6}],
         "tries again for 1 minute only if its question could not be recorded (Stepwire.NotRecorded)"),
        ([LASTING], "retries Stepwire.InputNotSupported, which a retry cannot fix"),
        ([{**HOPELESS, "ErrorEquals": ["Stepwire.InputNotSupported"]}, LASTING],
         "retries Stepwire.InvalidInputRequest, which a retry cannot fix"),
    ],
)  # fmt: skip
def test_what_a_retry_lacks_is_one_hint(retriers: list[JsonObject], lack: str | None) -> None:
    found = found_in(machine(Ask=asking(Retry=retriers)))

    assert found == ([] if lack is None else [f"state Ask {lack}"])


@pytest.mark.parametrize("kind", ["elicitation", "sampling.$", "roots"])
def test_every_kind_of_question_is_looked_at_however_deep(kind: str) -> None:
    inner = machine(Ask=asking(kind))
    each = {"Type": "Map", "ItemProcessor": inner, "End": True}
    branches = {"Type": "Parallel", "Branches": [machine(Each=each)], "End": True}

    assert found_in(machine(Both=branches)) == [f"state Ask {LACKS}"]


def test_a_question_in_jsonata_is_looked_at_and_a_wait_for_somebody_else_is_not() -> None:
    asked = {"Payload": {"elicitation": "{% $x %}"}}
    other = {"Payload": {"token": "{% $t %}"}}

    assert found_in(in_jsonata(Ask=task(resource=RESOURCE, Arguments=asked))) == [f"state Ask {LACKS}"]
    assert found_in(in_jsonata(Work=task(resource=RESOURCE, Arguments=other))) == []


def test_the_draft_says_what_to_add() -> None:
    made = draft("orders", Machine(ARN, "Orders", machine(Ask=asking())), History())

    assert f'# state Ask {LACKS}: add "Retry": [{{"ErrorEquals":' in made.text
