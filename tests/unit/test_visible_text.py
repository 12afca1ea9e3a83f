"""Texts that a person reads: no value can hide, reorder or imitate the text around it."""

import sys
import unicodedata

import pytest

from stepwire.json_text import Json
from stepwire.visible_text import quoted, visible

INVISIBLE = {"Cc", "Cf", "Zl", "Zp"}
# L16: they show nothing, and carry bytes to a model.
BLANK = {
    *map(chr, (0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800, 0x3164, 0xFFA0)),
    *map(chr, range(0xFE00, 0xFE10)),
    *map(chr, range(0xE0100, 0xE01F0)),
}


# X-M7
@pytest.mark.long
def test_every_control_and_direction_character_of_unicode_is_written_as_an_escape() -> None:
    characters = "".join(map(chr, (*range(0xD800), *range(0xE000, sys.maxunicode + 1))))

    kept = set(visible(characters))

    assert {one for one in kept if unicodedata.category(one) in INVISIBLE or one in BLANK} == set()


@pytest.mark.long
def test_every_other_character_is_unchanged() -> None:
    characters = map(chr, (*range(0xD800), *range(0xE000, sys.maxunicode + 1)))
    others = "".join(
        one for one in characters if unicodedata.category(one) not in INVISIBLE | {"Cn"} and one not in BLANK
    )

    assert visible(others) == others


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("5 rows?\n\nApproved", "5 rows?\\u000a\\u000aApproved"),
        ("\u202esresu lla eteleD\u202c", "\\u202esresu lla eteleD\\u202c"),
        ("\x07\x1b[2J", "\\u0007\\u001b[2J"),
        ("tag \U000e0041", "tag \\U000e0041"),
        ("grüße 你好 שלום", "grüße 你好 שלום"),
        ("⚠\ufe0f done ✅", "⚠\ufe0f done ✅"),
        ("⚠\ufe0f\ufe0f a\ufe0f", "⚠\ufe0f\\ufe0f a\\ufe0f"),
        ("a\ufe01\U000e0100\u3164\u2800b", "a\\ufe01\\U000e0100\\u3164\\u2800b"),
    ],
)
def test_invisible_characters_become_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_line_breaks_are_kept_if_they_are_allowed() -> None:
    assert visible("one\ntwo\tthree\r\u2028", keep="\n\t") == "one\ntwo\tthree\\u000d\\u2028"


@pytest.mark.parametrize(
    ("value", "shown"),
    [("a", '"a"'), ('"', '"\\""'), (1, "1"), (None, "null"), ({"a\u202e": "\n"}, '{"a\\u202e":"\\n"}')],
)
def test_a_value_in_a_sentence_is_quoted(value: Json, shown: str) -> None:
    assert quoted(value) == shown
