"""The profile of a column: numbers that were computed by hand, and properties of any column."""

import json
import math
import statistics
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.profile_dataset.dataprofile import column
from examples.profile_dataset.dataprofile.dataset import MISSING_VALUES

Json = dict[str, Any]


def profile(*values: str, rows: int | None = None) -> Json:
    """Profile a column of these values."""
    return column.profile(values, len(values) if rows is None else rows, MISSING_VALUES)


class TestNumbers:
    def test_statistics_equal_those_computed_by_hand(self) -> None:
        report = profile("2", "4", "4", "5", "5", "7", "9", "100")

        # The quantile q of n sorted values is at index q * (n - 1), linearly interpolated.
        assert report["type"] == "integer"
        assert report["numbers"] == {
            "minimum": 2,
            "maximum": 100,
            "mean": 17,
            "standard_deviation": pytest.approx(33.6027, abs=1e-4),  # the square root of 7904 / 7
            "quantiles": {"p05": 2.7, "p25": 4, "p50": 5, "p75": 7.5, "p95": pytest.approx(68.15)},
            "outliers": {"lower_fence": -1.25, "upper_fence": 12.75, "count": 1, "examples": [100]},
        }

    def test_each_outlier_is_shown_once_the_furthest_first(self) -> None:
        ordinary = [str(number) for number in range(1, 41)]

        report = profile(*ordinary, "300", "300", "-200", "500", "-100", "400", "600")

        assert report["numbers"]["outliers"]["count"] == 7
        assert report["numbers"]["outliers"]["examples"] == [600, 500, 400, 300, -200]

    def test_equal_quartiles_mean_no_outliers(self) -> None:
        report = profile("0", "0", "0", "0", "0", "0", "0", "1")

        assert "outliers" not in report["numbers"]

    def test_one_number_has_no_standard_deviation(self) -> None:
        report = profile("7.5")

        assert "standard_deviation" not in report["numbers"]
        assert report["numbers"]["mean"] == 7.5

    def test_equal_numbers_have_a_standard_deviation_of_zero(self) -> None:
        report = profile("0", "0", "0")

        assert report["numbers"]["standard_deviation"] == 0

    def test_the_largest_numbers_have_finite_statistics(self) -> None:
        report = profile("1e300", "-1e300")

        assert report["numbers"]["standard_deviation"] == pytest.approx(math.sqrt(2) * 1e300)
        assert report["numbers"]["mean"] == 0

    def test_the_smallest_numbers_are_numbers(self) -> None:
        report = profile("5e-324", "5e-324")

        assert report["numbers"]["minimum"] == 5e-324


class TestKinds:
    @pytest.mark.parametrize("value", ["0", "-17", "+5", "123456789012345"])
    def test_an_integer(self, value: str) -> None:
        assert profile(value)["type"] == "integer"

    @pytest.mark.parametrize("value", ["1.5", "-0.25", ".5", "1.", "1e5", "1E-3", "+2.5e+10", "1e300"])
    def test_a_number(self, value: str) -> None:
        assert profile(value)["type"] == "number"

    @pytest.mark.parametrize("value", ["true", "False", "TRUE"])
    def test_a_boolean(self, value: str) -> None:
        assert profile(value)["type"] == "boolean"

    @pytest.mark.parametrize("value", ["2024-02-29", "1000-01-01", "9999-12-31"])
    def test_a_date(self, value: str) -> None:
        assert profile(value)["type"] == "date"

    @pytest.mark.parametrize(
        "value", ["2024-02-29T23:59", "2024-02-29 23:59:59", "2024-02-29T23:59:59.123456Z", "2024-02-29T23:59+05:30"]
    )
    def test_a_time(self, value: str) -> None:
        assert profile(value)["type"] == "datetime"

    @pytest.mark.parametrize(
        "value",
        [
            *("007", "1234567890123456", "-0123"),  # codes and identifiers
            *("1_000", "1,000", "0x10", "1e999", "-1e301", "inf", "Infinity", "1e", "."),  # no numbers of ours
            *("2023-02-29", "2024-13-01", "0999-01-01", "03/04/2024", "2024-1-1"),  # no dates
            *("2024-01-01T24:00", "2024-01-01T12", "9999-12-31T23:59-01:00"),  # no times
            *("yes", "t", "Adelie", "½", "٣"),
        ],
    )
    def test_text(self, value: str) -> None:
        assert profile(value)["type"] == "text"

    def test_integers_among_numbers_are_numbers(self) -> None:
        report = profile("1", "2.5")

        assert report["type"] == "number"
        assert report["kinds"] == {"integer": 1, "number": 1}

    def test_dates_among_times_are_times(self) -> None:
        report = profile("2024-01-01", "2024-01-02T12:00+02:00")

        assert report["type"] == "datetime"
        assert report["dates"] == {
            "earliest": "2024-01-01T00:00:00Z",
            "latest": "2024-01-02T10:00:00Z",
            "days": pytest.approx(34 / 24, abs=1e-6),
        }

    def test_a_mixed_column_names_and_describes_each_of_its_types(self) -> None:
        report = profile("1", "2", "3", "unknown", "2024-01-01")

        assert report["type"] == "mixed"
        assert report["kinds"] == {"integer": 3, "date": 1, "text": 1}
        assert report["numbers"]["mean"] == 2
        assert report["dates"] == {"earliest": "2024-01-01", "latest": "2024-01-01", "days": 0}
        assert report["text_lengths"] == {"shortest": 7, "longest": 7, "mean": 7}


class TestMissingValues:
    def test_a_column_without_values_is_empty(self) -> None:
        report = profile("", "NA", "null")

        assert report == {
            "type": "empty",
            "kinds": {},
            "missing": {"count": 3, "share": 1.0},
            "distinct": 0,
            "most_frequent": [],
        }

    def test_a_column_without_rows_has_no_missing_values(self) -> None:
        report = profile()

        assert report["type"] == "empty"
        assert report["missing"] == {"count": 0, "share": 0.0}

    def test_short_rows_have_a_missing_value(self) -> None:
        report = profile("1", "", rows=4)

        assert report["missing"] == {"count": 3, "share": 0.75}

    def test_the_caller_chooses_the_texts_that_mean_missing(self) -> None:
        report = column.profile(["-999", "NA", "3"], 3, ["-999"])

        assert report["missing"]["count"] == 1
        assert report["kinds"] == {"integer": 1, "text": 1}


class TestFrequentValues:
    def test_frequent_values_are_sorted_by_count_and_then_by_value(self) -> None:
        report = profile("b", "a", "c", "c", "d", "e", "f")

        assert [entry["value"] for entry in report["most_frequent"]] == ["c", "a", "b", "d", "e"]
        assert report["most_frequent"][0] == {"value": "c", "count": 2, "share": pytest.approx(2 / 7, abs=1e-6)}
        assert report["distinct"] == 6

    def test_long_values_are_cut_and_control_characters_replaced(self) -> None:
        report = profile("x" * 41, "\x1b[31mred", "two\nlines")

        shown = {entry["value"] for entry in report["most_frequent"]}
        assert shown == {"x" * 39 + "…", "\N{REPLACEMENT CHARACTER}[31mred", "two\N{REPLACEMENT CHARACTER}lines"}

    def test_lengths_count_characters_and_not_bytes(self) -> None:
        report = profile("é", "日本語")

        assert report["text_lengths"] == {"shortest": 1, "longest": 3, "mean": 2}


# No lone surrogates, because `dataset` refuses them.
cells = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.integers().map(str),
    st.floats().map(repr),
    st.dates().map(str),
    st.datetimes(timezones=st.just(None) | st.timezones()).map(str),
    st.sampled_from(["NA", "", "true", "1e300", "-1e300", "1e-300", "0", "-0.0"]),
)


@given(st.lists(cells, max_size=30), st.integers(0, 5))
def test_any_column_has_a_profile_that_is_json_and_adds_up(values: list[str], lacking: int) -> None:
    report = profile(*values, rows=len(values) + lacking)

    json.dumps(report, allow_nan=False)
    present = [value for value in values if value not in MISSING_VALUES]
    assert sum(report["kinds"].values()) == len(present)
    assert report["missing"]["count"] == len(values) - len(present) + lacking
    assert report["distinct"] == len(set(present))
    counts = [entry["count"] for entry in report["most_frequent"]]
    assert counts == sorted(counts, reverse=True)
    assert len(counts) == min(5, report["distinct"])


@settings(max_examples=settings().max_examples // 2)
@given(st.lists(st.floats(-1e12, 1e12, allow_subnormal=False), min_size=2, max_size=40))
def test_the_statistics_of_numbers_are_those_of_the_standard_library(numbers: list[float]) -> None:
    report = profile(*map(repr, numbers))["numbers"]

    scale = max(map(abs, numbers))
    assert (report["minimum"], report["maximum"]) == (min(numbers), max(numbers))
    assert report["mean"] == pytest.approx(statistics.fmean(numbers), rel=1e-9, abs=1e-9 * scale)
    assert report["standard_deviation"] == pytest.approx(statistics.stdev(numbers), rel=1e-6, abs=1e-6 * scale)
    quartiles = statistics.quantiles(numbers, method="inclusive")
    assert list(report["quantiles"].values())[1:4] == pytest.approx(quartiles, rel=1e-9, abs=1e-9 * scale)


@settings(max_examples=settings().max_examples // 3)
@given(st.lists(cells, max_size=30), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_changes_nothing(values: list[str], random: Any) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)

    assert profile(*shuffled) == profile(*values)
