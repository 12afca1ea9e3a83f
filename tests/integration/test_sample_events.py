"""Each file in events/ is accepted by its function, and has the expected effect."""

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from stepwire_local import FunctionError, LocalStack, never
from tests.extras import parts
from tests.integration import samples
from tests.integration.samples import OfExtra, Sample
from tests.integration.stacks import ROOT, SIGN_IN, Deployed, deployed
from tests.recorded import FOLDER, recorded, task_of_the_events
from tests.template.chosen import ON
from tests.template.document import FUNCTION, resources

RECORDED_PREFIX: Final = "sw-"
OF_EXTRAS: Final[list[OfExtra]] = [part.SAMPLES for part in parts("samples")]
WITH_SIGN_IN: Final = {**SIGN_IN, **{name: value for part in OF_EXTRAS for name, value in part.parameters.items()}}
SAMPLES: Final[dict[str, Sample]] = {
    **samples.SAMPLES,
    **{name: sample for part in OF_EXTRAS for name, sample in part.taken.items()},
}
FOR_OTHERS: Final = samples.FOR_OTHERS.union(*(part.published for part in OF_EXTRAS))
MACHINE: Final = "arn:aws:states:eu-central-1:123456789012:stateMachine:WaitAndEcho"


@pytest.fixture(scope="module")
def stacks() -> Iterator[dict[bool, Deployed]]:
    """The whole root template, with and without sign-in."""
    template, parameters = ROOT / "stack.yaml", {"WaitSeconds": "0", "EventBus": "default", **ON}
    with (
        deployed(template, never, **parameters) as anybody,
        deployed(template, never, **parameters, **WITH_SIGN_IN) as guarded,
    ):
        yield {False: anybody, True: guarded}


def answer_of(stack: LocalStack, sample: Sample, event: dict[str, Any]) -> Any:
    """Invoke the function; None if it fails as expected."""
    if sample.fails is None:
        return stack.invoke(sample.function, event, sample.alias)
    with pytest.raises(FunctionError) as raised:
        stack.invoke(sample.function, event)
    assert raised.value.error_type == sample.fails
    return None


def of_the_stack(stack: LocalStack, recording: dict[str, Any]) -> dict[str, Any]:
    """Replace what is of another stack in recorded events: the state machine, and the start of executions' names."""
    ours, names = stack.physical_ids["WaitAndEcho"], stack.physical_ids["ExecutionNames"]
    prefix = stack.client("ssm").get_parameter(Name=names)["Parameter"]["Value"]
    text = json.dumps(recording).replace(MACHINE, ours).replace(RECORDED_PREFIX, prefix)
    return json.loads(
        text.replace(MACHINE.replace("stateMachine", "execution"), ours.replace("stateMachine", "execution"))
    )


# An event that cannot be processed is retried by the function itself for a quarter of a minute.
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if one.fails else ()) for name, one in sorted(SAMPLES.items())]
)
def test_a_sample_event_has_its_effect(stacks: dict[bool, Deployed], name: str) -> None:
    sample = SAMPLES[name]
    stack = stacks[bool(sample.parameters)].stack
    item = of_the_stack(stack, task_of_the_events())
    table, tasks = stack.physical_ids["TasksTable"], stack.client("dynamodb")
    tasks.put_item(TableName=table, Item=item)

    answer = answer_of(stack, sample, of_the_stack(stack, recorded(name)))

    assert answer == (sample.answers and answer | sample.answers)
    left = tasks.get_item(TableName=table, Key={key: item[key] for key in ("pk", "sk")})["Item"]
    assert left["status"]["S"] == sample.leaves


def test_every_sample_event_is_tested_here() -> None:
    names = {path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.json")}

    assert names - FOR_OTHERS == set(SAMPLES)


def test_every_function_of_the_template_has_a_sample_event() -> None:
    by_name = {name for part in OF_EXTRAS for name in part.by_name}
    assert {sample.function for sample in SAMPLES.values()} | by_name == {one.logical_id for one in resources(FUNCTION)}
