"""The first function of the workflow: it checks the arguments, and its payloads stay below the limit."""

import json
from typing import Any, Final

import pytest

from examples.profile_dataset.dataprofile import limits
from examples.profile_dataset.dataprofile.column import profile
from examples.profile_dataset.dataprofile.dataset import column_of, describe
from examples.profile_dataset.dataprofile.errors import DatasetInvalid, DatasetTooLarge

PAYLOAD_LIMIT: Final = 262_144  # bytes, of Step Functions
NO_BUCKET: Final = ""

Json = dict[str, Any]


def inline(text: str, **arguments: Any) -> Json:
    """Return an inline dataset."""
    return describe({"csv": text, **arguments}, NO_BUCKET)


def size(payload: Json | list[Json]) -> int:
    """Return the size of a payload as Step Functions counts it, in bytes of UTF-8."""
    return len(json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode())


class TestInline:
    def test_each_column_travels_with_its_own_values(self) -> None:
        dataset = inline("a;b\n1;x\n2;y\n")

        assert dataset == {
            "source": "inline",
            "delimiter": ";",
            "rows": 2,
            "short_rows": 0,
            "missing_values": ["", "NA", "N/A", "NaN", "nan", "null", "NULL"],
            "columns": [
                {"position": 1, "name": "a", "rows": 2, "values": ["1", "2"]},
                {"position": 2, "name": "b", "rows": 2, "values": ["x", "y"]},
            ],
        }

    def test_a_byte_order_mark_is_not_part_of_the_first_name(self) -> None:
        assert inline("\N{ZERO WIDTH NO-BREAK SPACE}a,b\n1,2\n")["columns"][0]["name"] == "a"

    def test_a_given_delimiter_is_used(self) -> None:
        dataset = inline("a,b;c\n1,2;3\n", delimiter=";")

        assert [column["name"] for column in dataset["columns"]] == ["a,b", "c"]

    def test_another_delimiter_is_refused(self) -> None:
        with pytest.raises(DatasetInvalid, match="must be one of ','"):
            inline("a:b", delimiter=":")

    @pytest.mark.parametrize("arguments", [{}, {"csv": "a", "s3_uri": "s3://bucket/key"}])
    def test_one_of_csv_and_s3_uri_is_needed(self, arguments: Json) -> None:
        with pytest.raises(DatasetInvalid, match="either csv or s3_uri"):
            describe(arguments, NO_BUCKET)

    def test_half_a_surrogate_pair_is_refused(self) -> None:
        with pytest.raises(DatasetInvalid, match="Character 2 of csv"):
            inline("a\n\ud83d")

    def test_more_than_64_kib_are_refused(self) -> None:
        with pytest.raises(DatasetTooLarge, match="65,537 bytes; inline at most 65,536"):
            inline("é" * 32_768 + "a")


class TestPayloads:
    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("c," * 99 + "c\n" + ("," * 99 + "\n") * 653, id="empty fields"),
            pytest.param("c," * 99 + "c\n" + "x\n" * 32_600, id="short rows"),
            pytest.param("c," * 99 + "c\n" + ("x," * 99 + "x\n") * 326, id="one character a field"),
            pytest.param("c\n" + '""""\n' * 13_000, id="quotes"),
            pytest.param("c\n" + "é" * 30_000, id="one field"),
        ],
    )
    def test_the_largest_inline_dataset_stays_under_the_limit(self, text: str) -> None:
        dataset = inline(text)

        assert len(text.encode()) > 0.8 * limits.INLINE_BYTES
        assert size(dataset) < PAYLOAD_LIMIT

    def test_the_longest_report_stays_under_the_limit(self) -> None:
        wide = "\N{GRINNING FACE}"
        texts = [str(number) + wide * limits.SHOWN_CHARACTERS for number in range(5)]
        numbers = [f"-1.2345678901234567e-{number}" for number in range(100, 130)]
        odd = ["true", "-98765.4321e280", "1", "2024-01-01", "2024-01-01T00:00:00.123456Z"]

        longest = profile([*texts * 3, *numbers * 2, *odd], limits.ROWS, [])
        column: Json = {"position": limits.COLUMNS, "name": wide * limits.NAME_CHARACTERS, **longest}

        assert column["kinds"].keys() == {"boolean", "integer", "number", "date", "datetime", "text"}
        assert size([column] * limits.COLUMNS) < PAYLOAD_LIMIT - 10_000  # the rest of the report


def test_the_items_of_an_inline_dataset_give_back_its_columns() -> None:
    dataset = inline("a,b\n1,2\n3\n")

    columns = [column_of(item, NO_BUCKET) for item in dataset["columns"]]

    assert [(column.values, column.rows) for column in columns] == [(["1", "3"], 2), (["2"], 2)]
