"""What past runs add to the inference: types, required properties, times; and none of their values."""

import random
from datetime import timedelta

import pytest

from benchmarks.inference.held_back import mean_shares
from benchmarks.inference.workloads import WORKLOADS, Workload
from packages.wrap.tests.samples import drafted, machine, passed, schema_of, task
from stepwire.json_text import Json, JsonObject, write
from stepwire_wrap.definitions.failures import Failure
from stepwire_wrap.definitions.samples import seen_in
from stepwire_wrap.definitions.timings import timings_of

FUNCTION = machine(Work=task(Parameters={"FunctionName": "f", "Payload.$": "$"}))


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_after_twenty_runs_held_back_inputs_are_classified_correctly(workload: Workload) -> None:
    found = mean_shares(workload, 20, held_back=50, seeds=10)

    assert found.accepted >= 0.97
    assert found.refused >= 0.95


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_after_few_runs_no_valid_input_is_refused(workload: Workload) -> None:
    assert mean_shares(workload, 3, held_back=50, seeds=10).accepted == 1


def test_a_property_of_every_run_is_required_after_enough_runs() -> None:
    def runs(number: int) -> list[Json]:
        return [{"a": "x", **({"b": 1} if one else {})} for one in range(number)]

    assert schema_of(FUNCTION, runs(10))["required"] == ["a"]
    assert "required" not in schema_of(FUNCTION, runs(9))


def test_a_property_that_a_successful_run_lacked_is_not_required() -> None:
    definition = machine(A=passed(Parameters={"x.$": "$.a", "y.$": "$.b"}))

    schema = schema_of(definition, [{"a": 1, "b": 2}, {"a": 1}])

    assert schema["required"] == ["a"]


def test_a_contradiction_of_definition_and_runs_allows_both_and_is_reported() -> None:
    definition = machine(A={"Type": "Wait", "SecondsPath": "$.pause", "Next": "B"}, B=passed())

    made = drafted(definition, [{"pause": "10"}] * 6)

    assert made.manifest["input_schema"]["properties"]["pause"]["type"] == ["string", "number"]
    assert made.conflicts == ("pause: the definition reads number, runs that succeeded had string: both are allowed",)


def test_few_integers_do_not_contradict_a_definition_that_wants_one() -> None:
    definition = machine(A=passed(Parameters={"x.$": "States.MathAdd($.n, 1)"}))

    made = drafted(definition, [{"n": 1}] * 6)

    assert made.manifest["input_schema"]["properties"]["n"] == {"type": "integer"}
    assert made.conflicts == ()


def test_no_value_of_a_run_and_no_name_that_is_data_is_shown() -> None:
    chance = random.Random(7)
    secrets: list[str] = []

    def secret() -> str:
        secrets.append(f"{chance.randrange(10**15):015}{chance.choice('qxz')}")
        return secrets[-1]

    def run() -> JsonObject:
        people = {f"{secret()}@example.com": 1, f"ord-{secret()}": secret(), "anna": {secret(): secret()}}
        return {"token": secret(), "people": people, "list": [secret(), {"key": secret()}], secret(): 1}

    runs: list[Json] = [run() for _ in range(30)]
    made = drafted(
        FUNCTION,
        runs,
        outputs=seen_in(runs),
        seconds=[1.0, 2.0],
        failures=[Failure(secret(), f"the caller {secret()} has no account")],
    )

    assert "token" in made.text
    assert [one for one in secrets if one in made.text or one in write(made.manifest)] == []


def test_the_types_of_few_runs_are_in_a_comment_alone() -> None:
    assert "# in 2 of 2 runs: string" in drafted(FUNCTION, [{"x": "a"}] * 2).text


def test_a_property_of_a_single_run_is_left_out() -> None:
    assert list(schema_of(FUNCTION, [{"a": 1, "typo": 2}, *([{"a": 1}] * 20)])["properties"]) == ["a"]


TYPES: list[tuple[list[Json], JsonObject]] = [
    (["2026-01-02T03:04:05Z"] * 10, {"type": "string", "format": "date-time"}),
    (["2026-01-02"] * 10, {"type": "string", "format": "date"}),
    (["2026-01-02"] * 9 + ["soon"], {"type": "string"}),
    (["2026-01-02"] * 5, {"type": "string"}),
    ([1] * 30, {"type": "integer"}),
    ([1] * 29, {"type": "number"}),
    ([1] * 40 + [0.5], {"type": "number"}),
    ([True] * 5, {"type": "boolean"}),
    (["x"] * 4 + [None], {"type": ["string", "null"]}),
    (["x"] * 4, {}),
    ([[1], ["x"]] * 5, {"type": "array", "items": {"type": ["string", "number"]}}),
    ([[]] * 5, {"type": "array"}),
]


@pytest.mark.parametrize(("values", "expected"), TYPES)
def test_types_are_stricter_after_more_runs(values: list[Json], expected: JsonObject) -> None:
    assert schema_of(FUNCTION, [{"x": value} for value in values])["properties"]["x"] == expected


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ([{"id": "a", "n": 1}] * 10,
         {"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": "number"}}}),
        ([{"id": "a"}] * 3, {"type": "object", "properties": {"id": {}}}),
        ([{"id": "a"}] * 9 + [{"id": None}], {"type": "object", "properties": {"id": {}}}),
        (["text"] * 10, None),
        ([{"id": 1}] * 9 + [[1]], None),
        ([{"content": [{"type": "text", "text": "a"}]}] * 10, None),
    ],
)  # fmt: skip
def test_an_output_schema_is_loose_and_only_for_objects(outputs: list[Json], expected: JsonObject | None) -> None:
    assert drafted(FUNCTION, [{}], outputs=seen_in(outputs)).manifest.get("output_schema") == expected


def test_an_output_schema_of_a_literal_output_needs_no_run() -> None:
    definition = machine(A=passed(Parameters={"status": "done", "id.$": "$.id"}))

    made = drafted(definition)

    assert made.manifest["output_schema"] == {"type": "object", "properties": {"id": {}, "status": {"type": "string"}}}


@pytest.mark.parametrize(
    ("definition", "seconds", "ttl", "poll"),
    [
        ({}, [], 7, 2),
        ({"TimeoutSeconds": 3600}, [], 7, 2),
        ({"TimeoutSeconds": 10 * 86_400}, [60], 14, 10),
        ({"TimeoutSeconds": 99_999_999}, [], 365, 2),
        ({}, [100.0] * 9 + [5 * 86_400.0], 14, 10),
        ({}, [3600.0], 7, 60),
        (machine(A={"Type": "Wait", "Seconds": 20 * 86_400, "End": True}), [], 30, 2),
        ({}, [0.1], 7, 1),
    ],
)
def test_durations_are_derived_from_timeouts_waits_and_runs(
    definition: JsonObject, seconds: list[float], ttl: int, poll: int
) -> None:
    found = timings_of(definition, seconds)

    assert (found.ttl, found.poll_interval) == (timedelta(days=ttl), timedelta(seconds=poll))


def test_task_support_is_off_only_if_many_runs_were_quick_and_no_state_waits() -> None:
    waiting = machine(A={"Type": "Wait", "SecondsPath": "$.s", "End": True})

    assert timings_of(FUNCTION, [1.0] * 20).is_quick
    assert not timings_of(FUNCTION, [1.0] * 19).is_quick
    assert not timings_of(FUNCTION, [1.0] * 20 + [5.0]).is_quick
    assert not timings_of(waiting, [1.0] * 20).is_quick
    assert drafted(FUNCTION, seconds=[1.0] * 20).manifest["task_support"] == "forbidden"


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        ([], None),
        ([Failure("Refused", "No money.")], "causes"),
        ([Failure("Refused", "No money."), Failure("States.Timeout", "")], None),
        ([Failure("Refused", 'Traceback (most recent call last): File "/var/task/app.py"')], "names"),
    ],
)
def test_causes_are_shown_only_if_the_definition_contains_them(failures: list[Failure], expected: str | None) -> None:
    definition = machine(A={"Type": "Fail", "Error": "Refused", "Cause": "No money."})

    assert drafted(definition, failures=failures).manifest.get("show_errors") == expected
