"""What the runner of the official suite counts as a fault."""

from pathlib import Path

import pytest

from tests.conformance import scenarios
from tests.conformance.__main__ import fault_of
from tests.conformance.scenarios import Scenario, differences, read_scenarios
from tests.conformance.suite import Report, report_of

MUST_PASS = Scenario("conformance-0.2", "2026-07-28", "tools-list")
NOT_SERVED = Scenario("conformance-0.2", "2026-07-28", "prompts-list", reason_not_served="No prompts.")
PASSED = {"id": "tools-list", "status": "SUCCESS", "description": "Lists."}
FAILED = {"id": "tools-list", "status": "FAILURE", "description": "Lists.", "errorMessage": "No list."}
WARNED = {"id": "tools-list", "status": "WARNING", "description": "Lists."}
SKIPPED = {"id": "tools-list", "status": "SKIPPED", "description": "Lists."}
ALWAYS = {"id": "wire-schema-valid", "status": "SUCCESS", "description": "Every message is valid."}


@pytest.mark.parametrize("checks", [[PASSED], [PASSED, ALWAYS], [PASSED, SKIPPED]])
def test_a_scenario_that_checked_something_without_a_failure_has_passed(checks: list[dict[str, str]]) -> None:
    report = report_of(MUST_PASS, checks)

    assert fault_of(report) is None


@pytest.mark.parametrize("checks", [[], [SKIPPED], [ALWAYS], [SKIPPED, ALWAYS]])
def test_a_scenario_that_checked_nothing_is_a_fault(checks: list[dict[str, str]]) -> None:
    report = report_of(MUST_PASS, checks)

    assert fault_of(report) == "nothing was checked"


def test_one_failed_check_is_a_fault_and_says_why() -> None:
    report = report_of(MUST_PASS, [PASSED, FAILED])

    assert fault_of(report) == "1 checks failed"
    assert report.complaints == ("failure tools-list: No list.",)


@pytest.mark.parametrize("checks", [[WARNED], [PASSED, WARNED]])
def test_a_warning_is_a_fault_and_says_why(checks: list[dict[str, str]]) -> None:
    report = report_of(MUST_PASS, checks)

    assert fault_of(report) == "1 checks gave a warning"
    assert report.complaints == ("warning tools-list: Lists.",)


def test_a_run_that_ended_badly_is_a_fault() -> None:
    report = Report(MUST_PASS, failed=1, complaints=("not done after 60 seconds",))

    assert fault_of(report)


def test_a_scenario_that_is_not_served_may_fail() -> None:
    report = report_of(NOT_SERVED, [PASSED, FAILED])

    assert fault_of(report) is None


def test_a_scenario_that_is_not_served_and_passes_is_a_fault() -> None:
    report = report_of(NOT_SERVED, [PASSED])

    assert fault_of(report) == "passes now: move it to must_pass"


def test_a_scenario_that_is_not_served_may_check_nothing() -> None:
    report = report_of(NOT_SERVED, [SKIPPED, ALWAYS])

    assert fault_of(report) is None


@pytest.mark.parametrize(
    ("expected", "checks", "fault"),
    [
        ({"tools-list"}, [FAILED, ALWAYS], None),
        ({"tools-list"}, [WARNED, ALWAYS], None),
        ({"prompts-list"}, [FAILED], "failed, and is not expected to: tools-list"),
        ({"tools-list", "prompts-list"}, [FAILED], "passes now, take it out of checks: prompts-list"),
        ({"tools-list"}, [PASSED], "passes now, take it out of checks: tools-list"),
        ({"tools-list"}, [], "passes now, take it out of checks: tools-list"),
    ],
)
def test_a_scenario_that_is_served_in_part_fails_exactly_the_named_checks(
    expected: set[str], checks: list[dict[str, str]], fault: str | None
) -> None:
    scenario = Scenario("conformance-0.2", "2026-07-28", "caching", "No prompts.", frozenset(expected))

    assert fault_of(report_of(scenario, checks)) == fault


def test_a_scenario_that_only_the_suite_or_only_the_file_knows_is_named() -> None:
    found = list(differences([MUST_PASS], ["ping"]))

    assert found == [
        "new in the suite, decide about it in scenarios.yaml: ping",
        "not in the suite any more, take it out of scenarios.yaml: tools-list",
    ]


def test_each_scenario_is_listed_once_and_has_a_reason_if_it_is_not_served() -> None:
    scenarios = read_scenarios()

    assert sum(one.reason_not_served is None for one in scenarios) >= 70
    assert all(one.reason_not_served != "" for one in scenarios)


def test_a_scenario_ends_as_the_extra_says_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one").mkdir()
    file = tmp_path / "one" / "scenarios.yaml"
    file.write_text("- {package: conformance-0.2, era: '2025-11-25', must_pass: [resources-list]}")
    without = {one.key for one in read_scenarios()}

    monkeypatch.setattr(scenarios, "OF_EXTRAS", tmp_path)

    outcomes = {one.key: one.reason_not_served for one in read_scenarios()}
    assert outcomes.keys() == without
    assert outcomes["conformance-0.2", "2025-11-25", "resources-list"] is None
    assert outcomes["conformance-0.2", "2026-07-28", "resources-list"] is not None
