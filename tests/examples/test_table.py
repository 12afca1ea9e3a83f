"""Reading CSV tables: every irregularity has one defined outcome."""

import csv
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.profile_dataset.dataprofile import limits
from examples.profile_dataset.dataprofile.errors import DatasetInvalid, DatasetTooLarge
from examples.profile_dataset.dataprofile.table import Shape, Table, find_delimiter, read_column, read_shape


def shape(text: str, delimiter: str = ",") -> Shape:
    """Read the shape of a text."""
    return read_shape(Table(text, delimiter))


def rows(text: str, delimiter: str = ",") -> list[list[str]]:
    """Read the rows of a text."""
    return list(Table(text, delimiter).rows())


class TestHeader:
    def test_names_may_repeat(self) -> None:
        assert shape("a,a\n1,2\n").names == ("a", "a")

    def test_a_column_without_a_name_is_called_by_its_position(self) -> None:
        assert shape("a,, \n1,2,3\n").names == ("a", "column_2", "column_3")

    def test_a_header_alone_is_a_table_without_rows(self) -> None:
        assert shape("a,b") == Shape(("a", "b"), rows=0, short_rows=0)

    @pytest.mark.parametrize("text", ["", "\n", "\r\n\r\n"])
    def test_an_empty_text_is_refused(self, text: str) -> None:
        with pytest.raises(DatasetInvalid, match="first line must name the columns"):
            shape(text)

    def test_too_many_columns_are_refused(self) -> None:
        with pytest.raises(DatasetTooLarge, match="101 columns; at most 100"):
            shape("c," * limits.COLUMNS + "c")

    def test_a_name_that_is_a_paragraph_is_refused(self) -> None:
        with pytest.raises(DatasetInvalid, match="longer than 100 characters"):
            shape("c" * 101)


class TestRows:
    def test_quoted_values_may_contain_delimiters_quotes_and_line_ends(self) -> None:
        assert rows('a,b\n"1,5","say ""hi""\nagain"\n') == [["1,5", 'say "hi"\nagain']]

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_every_kind_of_line_end_is_accepted(self, end: str) -> None:
        assert rows(end.join(["a,b", "1,2", "3,4"])) == [["1", "2"], ["3", "4"]]

    def test_blanks_around_values_are_removed(self) -> None:
        assert rows("a,b\n 1 ,\t2\n") == [["1", "2"]]

    def test_quotes_may_follow_a_blank(self) -> None:
        assert rows('a,b\n1, "2,5"\n') == [["1", "2,5"]]

    def test_blank_lines_are_ignored(self) -> None:
        assert shape("a,b\n\n1,2\n\n").rows == 1

    def test_short_rows_are_counted(self) -> None:
        assert shape("a,b,c\n1\n1,2\n1,2,3\n") == Shape(("a", "b", "c"), rows=3, short_rows=2)

    def test_a_long_row_is_refused_by_its_line(self) -> None:
        with pytest.raises(DatasetInvalid, match="line 4 has 3 fields, the header 2"):
            shape('a,b\n"1\n1",2\n1,2,3\n')

    @pytest.mark.parametrize("text", ['a,b\n1,"2', 'a,b\n1,"2"3\n'])
    def test_unmatched_quotes_are_refused(self, text: str) -> None:
        with pytest.raises(DatasetInvalid, match="Line 2 is not CSV"):
            shape(text)

    def test_a_field_of_more_than_128_kib_is_refused(self) -> None:
        with pytest.raises(DatasetInvalid, match="field larger than field limit"):
            shape("a\n" + "x" * 131_073)

    def test_too_many_rows_are_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(limits, "ROWS", 1_000)

        with pytest.raises(DatasetTooLarge, match="more than 1,000 rows"):
            shape("a\n" + "1\n" * (limits.ROWS + 1))


class TestColumns:
    def test_a_column_has_the_values_of_the_rows_that_reach_it(self) -> None:
        column = read_column(Table("a,b\n1,2\n3\n4,5\n", ","), 2)

        assert (column.values, column.rows) == (["2", "5"], 3)


class TestDelimiter:
    @pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
    def test_it_is_found_where_every_record_has_it(self, delimiter: str) -> None:
        assert find_delimiter(f"a{delimiter}b\n1{delimiter}2\n") == delimiter

    def test_decimal_commas_do_not_mislead(self) -> None:
        assert find_delimiter("x;y\n1,5;2,5\n3,5;4,5\n") == ";"

    def test_commas_in_a_heading_do_not_mislead(self) -> None:
        assert find_delimiter("name, first;age\nAda;36\nAlan;41\n") == ";"

    def test_delimiters_in_quotes_do_not_count(self) -> None:
        assert find_delimiter('a,b\n"1;2",3\n"4;5",6\n') == ","

    def test_one_column_has_none(self) -> None:
        assert find_delimiter("a\n1\n2\n") == ","

    def test_only_the_first_records_are_looked_at(self) -> None:
        assert find_delimiter("a,b\n" + "1,2\n" * 50 + "1;2\n" * 1000) == ","


cell = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=10).filter(
    lambda text: text == text.strip()
)


@given(st.integers(1, 5).flatmap(lambda width: st.lists(st.lists(cell, min_size=width, max_size=width), max_size=8)))
def test_the_output_of_a_csv_writer_is_read_back(table: list[list[str]]) -> None:
    written = StringIO(newline="")
    csv.writer(written).writerows([[f"c{place}" for place, _ in enumerate(table[0])] if table else ["c0"], *table])

    assert rows(written.getvalue()) == table
