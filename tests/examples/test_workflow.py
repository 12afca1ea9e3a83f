"""The workflow profile_dataset on the local stack: from the tool's arguments to the report, or to a named error."""

import csv
import json
from collections.abc import Iterator
from io import StringIO
from threading import Event
from typing import Any

import anyio
import jsonschema
import pytest
import yaml

from examples.profile_dataset.dataprofile import limits
from examples.profile_dataset.dataprofile.dataset import MISSING_VALUES
from examples.profile_dataset.dataprofile.errors import DatasetError
from examples.profile_dataset.dataprofile.table import DELIMITERS
from stepwire_client import Working, connect
from stepwire_local import FunctionError, LocalStack
from stepwire_local.iam.permissions import Call, watched
from tests.examples.stacks import (
    BUCKET,
    PENGUINS,
    ROOT,
    execute,
    manifest_of,
    stack_with_bucket,
    store,
    without_event_bus,
)
from tests.waiting import HANG_GUARD

Json = dict[str, Any]


@pytest.fixture(scope="module")
def stack() -> Iterator[LocalStack]:
    """Serve the template with a bucket."""
    with stack_with_bucket() as stack:
        yield stack


@pytest.fixture(scope="module")
def manifest() -> Json:
    """Read the tool's manifest."""
    return manifest_of("profile_dataset")


class TestReports:
    def test_the_profile_of_the_penguins_agrees_with_published_numbers(self, stack: LocalStack, manifest: Json) -> None:
        with PENGUINS.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        text = StringIO(newline="")
        known = csv.DictWriter(text, ["Species", "Island", "Sex", "Body Mass (g)"], extrasaction="ignore")
        known.writeheader()
        known.writerows(rows)

        execution = execute(stack, {"csv": text.getvalue()})

        report = execution.output
        assert report is not None
        jsonschema.validate(report, manifest["output_schema"])
        assert (report["rows"], report["short_rows"], len(report["columns"])) == (344, 0, 4)
        columns = {column["name"]: column for column in report["columns"]}
        # The numbers are from the documentation of the data set.
        assert [entry["count"] for entry in columns["Species"]["most_frequent"]] == [152, 124, 68]
        assert [entry["count"] for entry in columns["Island"]["most_frequent"]] == [168, 124, 52]
        assert columns["Sex"]["missing"]["count"] == 11
        mass = columns["Body Mass (g)"]["numbers"]
        assert (mass["minimum"], mass["quantiles"]["p50"], mass["maximum"]) == (2700, 4050, 6300)
        assert mass["mean"] == pytest.approx(4201.754, abs=1e-3)
        assert mass["standard_deviation"] == pytest.approx(801.955, abs=1e-3)

    def test_a_file_in_s3_gives_the_same_columns_as_its_text(self, stack: LocalStack) -> None:
        text = "species,mass,at\nAdélie,3750,2007-11-11\nGentoo,,2008-01-02\n"
        uri = store(stack, "folder/penguins?#.csv", b"\xef\xbb\xbf" + text.encode())

        stored, inline = execute(stack, {"s3_uri": uri}), execute(stack, {"csv": text})

        assert stored.output is not None
        assert inline.output is not None
        assert stored.output["source"] == uri
        assert stored.output["columns"] == inline.output["columns"]

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("only\n1\n", id="one column", marks=pytest.mark.long),
            pytest.param("a,b\n", id="no rows"),
            pytest.param("a,a,\n1,x\n,NA,true\n2024-01-01,2.5e3\n", id="odd names, short rows, mixed kinds"),
            pytest.param("c," * 99 + "c\n" + "1," * 99 + "1\n", id="a hundred columns", marks=pytest.mark.long),
        ],
    )
    def test_every_report_conforms_to_the_output_schema_of_the_manifest(
        self, stack: LocalStack, manifest: Json, text: str
    ) -> None:
        execution = execute(stack, {"csv": text})

        assert execution.status == "SUCCEEDED"
        jsonschema.validate(execution.output, manifest["output_schema"])
        assert execution.output is not None
        positions = [column["position"] for column in execution.output["columns"]]
        assert positions == list(range(1, len(positions) + 1))


class TestErrors:
    def test_a_bad_dataset_fails_with_an_error_name_and_a_message_only(self, stack: LocalStack) -> None:
        execution = execute(stack, {"csv": "a\n1,2\n"})

        assert (execution.status, execution.error) == ("FAILED", "DatasetInvalid")
        assert execution.cause is not None
        assert execution.cause.startswith("The row that ends on line 2 has 2 fields")

    def test_a_file_that_is_not_there(self, stack: LocalStack) -> None:
        execution = execute(stack, {"s3_uri": f"s3://{BUCKET}/nothing.csv"})

        assert execution.error == "DatasetNotFound"

    def test_another_bucket(self, stack: LocalStack) -> None:
        execution = execute(stack, {"s3_uri": "s3://elsewhere/file.csv"})

        assert execution.error == "DatasetRefused"
        assert execution.cause == "This server reads from the bucket datasets only, not from elsewhere."

    @pytest.mark.parametrize("uri", ["s3://datasets", "s3://datasets/", "https://datasets/file.csv", "file.csv"])
    def test_an_invalid_s3_uri_is_refused(self, stack: LocalStack, uri: str) -> None:
        execution = execute(stack, {"s3_uri": uri})

        assert execution.error == "DatasetInvalid"

    def test_a_file_that_is_not_utf_8(self, stack: LocalStack) -> None:
        execution = execute(stack, {"s3_uri": store(stack, "latin.csv", "name\nPréfontaine\n".encode("latin-1"))})

        assert (execution.error, execution.cause) == (
            "DatasetInvalid",
            "Byte 7 of the file is not UTF-8. Save it as UTF-8.",
        )

    @pytest.mark.long
    def test_a_file_of_more_than_32_mib(self, stack: LocalStack) -> None:
        execution = execute(stack, {"s3_uri": store(stack, "large.csv", b"a\n" + b"1\n" * (16 * 1024 * 1024))})

        assert execution.error == "DatasetTooLarge"

    def test_a_file_that_changes_during_the_workflow(self, stack: LocalStack) -> None:
        uri = store(stack, "changing.csv", b"a\n1\n")
        dataset = stack.invoke("ReadDatasetFunction", {"s3_uri": uri})
        store(stack, "changing.csv", b"a\n2\n")

        with pytest.raises(FunctionError) as raised:
            stack.invoke("ProfileColumnFunction", {"column": dataset["columns"][0], "missing_values": []})

        assert raised.value.error_type == "DatasetChanged"


class TestProgress:
    def test_the_first_report_has_the_size_and_the_others_the_columns(self, stack: LocalStack) -> None:
        first, *others = execute(stack, {"csv": "a,b\n1,2\n3,4\n"}).reports

        assert first == {"progress": 10, "total": 100, "message": "2 rows and 2 columns read"}
        assert sorted(others, key=lambda report: report["progress"]) == [
            {"progress": 52, "total": 100, "message": "column 1 of 2 profiled"},
            {"progress": 95, "total": 100, "message": "column 2 of 2 profiled"},
        ]

    @pytest.mark.long
    def test_a_wide_dataset_is_reported_in_ten_steps(self, stack: LocalStack) -> None:
        _, *others = execute(stack, {"csv": "c," * 99 + "c\n" + "1," * 99 + "1\n"}).reports

        assert sorted(report["progress"] for report in others) == [18, 27, 35, 44, 52, 61, 69, 78, 86, 95]

    def test_a_report_that_cannot_be_sent_changes_nothing(self, stack: LocalStack, refusals: list[str]) -> None:
        arguments = {"csv": "a,b\n1,2\n3,4\n"}

        heard, no_audit = execute(stack, arguments), execute(stack, arguments, without_event_bus(stack))

        assert no_audit.status == "SUCCEEDED"
        assert no_audit.output == heard.output
        assert {"events:PutEvents" in refusal for refusal in refusals} == {
            True
        }  # the role may not publish to another bus
        refusals.clear()

    @pytest.mark.anyio
    async def test_the_task_shows_its_progress(self, stack: LocalStack) -> None:
        shown, seen = list[str](), Event()

        def hold(call: Call) -> None:
            """Let no column be profiled before the client has seen a report."""
            if call.need.action == "lambda:InvokeFunction" and call.need.resource.endswith("ProfileColumnFunction"):
                assert seen.wait(HANG_GUARD)

        async with connect(stack.url) as client:
            with watched(hold), anyio.fail_after(HANG_GUARD):
                task = await client.create_task("profile_dataset", {"csv": "a,b,c\n1,2,3\n"})
                assert isinstance(task, Working)
                while (state := await client.get_task(task.task_id)).status == "working":
                    await anyio.sleep(0.05)
                    shown.append(state.status_message or "")
                    if "%" in shown[-1]:
                        seen.set()

        percentages = [int(words.partition("%")[0]) for words in shown if "%" in words]
        assert state.status == "completed"
        assert percentages
        assert percentages == sorted(percentages)


class TestDefinition:
    def test_a_report_that_fails_changes_nothing(self) -> None:
        definition = yaml.safe_load((ROOT / "examples/workflows/profile_dataset.asl.yaml").read_text())
        states = definition["States"]

        reports = [states["ReportRead"], states["ProfileColumns"]["ItemProcessor"]["States"]["ReportColumn"]]

        for report in reports:
            passed_on = {"Output": "{% $states.input %}", "Next": report["Next"]}
            assert report["Catch"] == [{"ErrorEquals": ["States.ALL"], **passed_on}]
            assert report["Output"] == passed_on["Output"]

    def test_every_error_of_the_functions_is_caught_and_only_transient_ones_are_tried_again(self) -> None:
        definition = yaml.safe_load((ROOT / "examples/workflows/profile_dataset.asl.yaml").read_text())
        names = {kind.__name__ for kind in DatasetError.__subclasses__()}
        states = definition["States"]
        tasks = [states["ReadDataset"], states["ProfileColumns"]["ItemProcessor"]["States"]["ProfileColumn"]]

        caught = [set(states[name]["Catch"][0]["ErrorEquals"]) for name in ("ReadDataset", "ProfileColumns")]
        retried = [
            {error for error in task["Retry"][0]["ErrorEquals"] if not error.startswith("Lambda.")} for task in tasks
        ]

        assert caught == [names, names]
        assert retried == [{"StorageUnavailable"}, {"StorageUnavailable"}]

    def test_the_tool_description_lists_the_error_names(self, manifest: Json) -> None:
        untold = [
            kind.__name__ for kind in DatasetError.__subclasses__() if kind.__name__ not in manifest["description"]
        ]

        assert untold == []

    def test_the_manifest_states_the_limits_and_defaults_of_the_code(self, manifest: Json) -> None:
        properties = manifest["input_schema"]["properties"]

        assert properties["csv"]["maxLength"] == limits.INLINE_BYTES
        assert tuple(properties["missing_values"]["default"]) == MISSING_VALUES
        assert tuple(properties["delimiter"]["enum"]) == DELIMITERS
        assert f"cut after {limits.SHOWN_CHARACTERS} characters" in json.dumps(manifest)
        assert f"{limits.COLUMNS} columns, {limits.ROWS:,} rows" in manifest["description"]
