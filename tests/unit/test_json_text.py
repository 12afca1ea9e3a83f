"""Strict JSON: texts that parsers could read differently are refused."""

import gc
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwire.json_text import LARGEST_INTEGER, Json, JsonTextError, equal_form, examine, parse, write
from tests.strategies import json_values


@given(json_values)
def test_written_values_are_read_back_unchanged(value: Json) -> None:
    assert parse(write(value)) == value
    assert parse(write(value).encode()) == value


@given(json_values)
def test_the_canonical_form_equals_the_value(value: Json) -> None:
    assert equal_form(value) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1"), (-0.0, "0"), ([{"a": 2e3}], '[{"a":2000}]'), (1.5, "1.5"), (True, "true"), (1e300, "1e+300")],
)
def test_a_whole_number_has_one_canonical_form(value: Json, text: str) -> None:
    assert write(equal_form(value)) == text


@given(st.binary() | st.text(st.characters()) | st.text('[]{}",:0123456789-+.eEtrufalsn\\ \t\n'))
def test_any_text_is_a_value_or_refused(text: bytes | str) -> None:
    try:
        value = parse(text)
    except JsonTextError:
        return

    assert parse(write(value)) == value


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"nul",
        b"{'a': 1}",
        b"[1,]",
        b"// no\n1",
        b"1 2",
        b"01",
        b"\x00",
        b"1\x00",
        b'"\x01"',
        b'"\\x41"',
    ],
)
def test_invalid_json_is_refused(text: bytes) -> None:
    with pytest.raises(JsonTextError):
        parse(text)


@pytest.mark.parametrize("text", [b'{"a":1,"a":2}', b'[{"b":{"a":1,"c":2,"a":1}}]', b'{"a":1,"\\u0061":2}'])
def test_a_duplicate_key_is_refused_and_named(text: bytes) -> None:
    with pytest.raises(JsonTextError, match="the key 'a' is given twice"):
        parse(text)


@pytest.mark.parametrize("text", [b"NaN", b"-NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b"[1e400]"])
def test_nan_and_infinities_are_refused(text: bytes) -> None:
    with pytest.raises(JsonTextError):
        parse(text)


@pytest.mark.parametrize("number", [LARGEST_INTEGER, -LARGEST_INTEGER, 0])
def test_an_integer_that_every_parser_reads_exactly_is_accepted(number: int) -> None:
    assert parse(str(number)) == number


@pytest.mark.parametrize(
    "digits", [str(LARGEST_INTEGER + 1), str(-LARGEST_INTEGER - 1), "9" * 400, "-" + "9" * 400, "9" * 100_000]
)
def test_an_integer_that_would_lose_digits_is_refused(digits: str) -> None:
    with pytest.raises(JsonTextError):
        parse(digits)


@pytest.mark.parametrize(
    "digits",
    [
        *("0.1", "1.10", "100.00", "-0.0", "0e5", "1e22", "1E5", "0.30000000000000004", "5e-324", "2.5e-310"),
        "1.7976931348623157e308",
        "0.10000000000000001",  # 0.1 as C prints it with 17 digits
    ],
)
def test_a_decimal_that_some_writer_prints_for_a_double_is_accepted(digits: str) -> None:
    assert parse(digits) == float(digits)


@pytest.mark.parametrize(
    "digits",
    [
        *("12345678901234567.89", "9007199254740993.0", "123456789012345678e-2", "3.141592653589793238"),
        *("0.12345678901234567", "1e-400", "-1e-400", "1.23456789e-320"),
        f"0.{'1' * 1_000_000}",
    ],
    ids=lambda digits: digits[:30],
)
def test_a_decimal_that_would_lose_digits_is_refused_and_named(digits: str) -> None:
    with pytest.raises(JsonTextError, match=f"the number {digits[:40]} would lose digits"):
        parse(digits)


@pytest.mark.parametrize("depth", [1_000, 1_000_000])
@pytest.mark.parametrize("brackets", [("[", "]"), ('{"a":', "}")])
def test_a_value_nested_too_deeply_is_refused(depth: int, brackets: tuple[str, str]) -> None:
    begin, end = brackets

    with pytest.raises(JsonTextError, match="recursion limit"):
        parse(begin * depth + "1" + end * depth)


@pytest.mark.parametrize(
    "text",
    [
        b'"\xff"',
        b'"\xc3\x28"',
        b'"\xed\xa0\x80"',  # a surrogate, as UTF-8 would write it
        b"\xef\xbb\xbf{}",
        '{"a":1}'.encode("utf-16"),
        '{"a":1}'.encode("utf-16-le"),
        '{"a":1}'.encode("utf-32"),
    ],
    ids=["byte", "sequence", "surrogate", "utf-8 with a mark", "utf-16", "utf-16 without a mark", "utf-32"],
)
def test_only_utf_8_without_a_byte_order_mark_is_accepted(text: bytes) -> None:
    with pytest.raises(JsonTextError):
        parse(text)


@pytest.mark.parametrize("text", [b'"\\ud800"', b'"\\udc00\\ud800"', '"\ud800"', '{"\udfff":1}', "\ufeff{}"])
def test_a_lone_surrogate_is_refused(text: bytes | str) -> None:
    with pytest.raises(JsonTextError):
        parse(text)


def test_a_surrogate_pair_is_one_character() -> None:
    assert parse(b'"\\ud83d\\ude00"') == "\N{GRINNING FACE}"


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_values_outside_json_are_not_written(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write(value)


# What confuses readers: numbers, escapes, constants, brackets, other encodings.
PIECES = [
    *(
        b"0",
        b"1",
        b"-",
        b".",
        b"e5",
        b"1e400",
        b"1.50",
        b"9007199254740993",
        b'"a"',
        b'"\\ud83d\\ude00"',
        b'"\\uD800"',
        b'"\\n"',
    ),
    *(b"NaN", b"-Infinity", b"true", b"null", b"[", b"]", b"{", b"}", b",", b":", b'{"a":1}', b'"a":2', b" ", b"\t"),
    *(b"\x00", b"\xff", b"\xc3\xa9", b"\xef\xbb\xbf", b'"\\x"', b"'", b"//", b"\x0b"),
]


@given(
    st.lists(st.sampled_from(PIECES), max_size=8).map(b"".join) | json_values.map(lambda value: write(value).encode())
)
def test_a_small_text_is_read_as_a_large_one_is(text: bytes) -> None:
    large = text + b" " * 4_000  # too large for the standard library alone

    assert outcome(text) == outcome(large)


def test_a_small_text_is_refused_in_the_words_of_the_strict_reader() -> None:
    with pytest.raises(JsonTextError, match="trailing comma at line 1 column 4"):
        parse(b"[1,]")


def outcome(text: bytes) -> str:
    """Return what reading gives: a value's text, or that it was refused."""
    try:
        return repr(examine(text))
    except JsonTextError:
        return "refused"


def test_no_garbage_is_collected_while_a_large_text_is_read() -> None:
    """M6: each collection visits all objects of the function, and a body of lists caused hundreds."""
    collections: list[str] = []
    text = json.dumps([[[1]] for _ in range(20_000)])

    def note(phase: str, _info: object) -> None:
        collections.append(phase)

    gc.collect(0)  # what the test itself has made is counted no more
    gc.callbacks.append(note)
    try:
        examine(text)
        while_reading = len(collections)
    finally:
        gc.callbacks.remove(note)

    assert while_reading == 0
    assert gc.isenabled()
