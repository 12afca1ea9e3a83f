"""Changes inputs where it matters: inside the JSON, the JSON in its strings, and the base64 in those.

    mutated(b'{"body": "{\\"id\\": 1}"}', 65536, random.Random(7), octets) == b'{"body": "{\\"id\\": [[[[1]]]]}"}'

A single step makes a change that a byte-wise fuzzer rarely finds: an added, removed or repeated member, a value of
another type, a word of the protocol, a hundred levels of nesting. Bytes are changed as well, at every level.
"""

import base64
import binascii
import copy
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final, TypeAlias, cast
from urllib.parse import parse_qsl, urlencode

from stepwire.json_text import JsonObject

Octets: TypeAlias = Callable[[bytes, int], bytes]
"""Changes bytes; the result has at most this length."""
MOST_CHANGES: Final = 2
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,2}")
_FORM: Final = re.compile(r"(?=[^=]+=[^&=])[\w.*~%+-]+=[\w.*~%+-]*(?:&[\w.*~%+-]+=[\w.*~%+-]*)*", re.ASCII)
_WORD_LIKE: Final = re.compile(r'"([^"\\]{1,40})":')
_NUMBERS: Final = (
    0,
    -0.0,
    1,
    -1,
    2,
    0.5,
    1e-320,
    1e308,
    -1e308,
    255,
    256,
    2**31,
    2**53 - 1,
    2**53,
    -(2**53),
    2**64,
    10**30,
    10**400,
)
_CHARACTERS: Final = (
    *("\0", "\n", "\r", "\t", " ", "\x7f", "\x85", "\u2028", "\u00e4", "\u0660", "\u200b", "\ufeff", "\U0001f600"),
    *("\ud800", "\udfff", '"', "\\", "/", "~", "%", "{", "}", ":", ";", ",", ".", "*", "&"),
)
_SMALL: Final[tuple[Any, ...]] = (None, True, False, "", [], {})
_TIMES: Final = (2, 3, 10, 100, 300, 3_000)
_DEPTHS: Final = (1, 2, 20, 199, 200, 260, 600)


def mutated(data: bytes, most: int, chance: Random, octets: Octets, words: Sequence[str]) -> bytes:
    """Change an input in one or two places.

    Args:
        data: the input.
        most: the longest result.
        chance: the source of randomness; equal ones give equal results.
        octets: changes bytes.
        words: texts and names to insert.
    """
    change = _Change(chance, octets, words, most)
    for _ in range(chance.randint(1, MOST_CHANGES)):
        try:
            after = change.data(data)
        except RecursionError:  # nested too deeply to be written
            continue
        data = after if 0 < len(after) <= most else data
    return data


@dataclass(frozen=True)
class _Change:
    chance: Random
    octets: Octets
    words: Sequence[str]
    most: int

    def data(self, data: bytes) -> bytes:
        text = data.decode(errors="surrogateescape")
        opened = None if self._rarely(0.05) else _opened(text)
        changed = self._bytes_of(text) if opened is None else opened.close(self._spoilt(self._value(opened.value)))
        return changed.encode(errors="surrogateescape")

    def _value(self, value: Any) -> Any:
        places = _places(value)
        if places and not self._rarely(0.25):
            (place,) = self.chance.choices(places, [_weight(value[place]) for place in places])
            value[place] = self._value(value[place])
            return value
        return self._other() if self._rarely(0.1) else self._itself(value)

    def _itself(self, value: Any) -> Any:
        match value:
            case dict():
                return self._object(cast(JsonObject, value))
            case list():
                return self._array(cast(list[Any], value))
            case str():
                return self._text(value)
            case int() | float():
                return self._number(value)
            case _:
                return self._other()

    def _other(self) -> Any:
        """Return a value of any kind."""
        choices: tuple[Callable[[], Any], ...] = (
            lambda: copy.copy(self.chance.choice(_SMALL)),
            lambda: self.chance.choice(_NUMBERS),
            lambda: self.chance.choice(self.words),
            lambda: {self.chance.choice(self.words): self.chance.choice(self.words)},
            lambda: [self.chance.choice(self.words)],
        )
        return self.chance.choice(choices)()

    def _object(self, value: JsonObject) -> Any:
        name = self.chance.choice(list(value)) if value else self.chance.choice(self.words)
        match self.chance.randrange(6):
            case 0:
                value.pop(name, None)
            case 1:
                value[self.chance.choice(self.words)] = value.pop(name, None)
            case 2:
                return self._nested(value)
            case 3:
                value.update({f"{name[:20]}{number}": 0 for number in range(self.chance.choice(_TIMES))})
            case _:
                value[self.chance.choice(self.words)] = self._other()
        return value

    def _array(self, value: list[Any]) -> Any:
        match self.chance.randrange(5):
            case 0 if value:
                value.pop(self.chance.randrange(len(value)))
            case 1:
                return self._nested(value)
            case 2:
                return (value or [0]) * self._times(json.dumps(value))
            case _:
                value.insert(self.chance.randint(0, len(value)), self._other())
        return value

    def _nested(self, value: Any) -> Any:
        name = self.chance.choice((None, self.chance.choice(self.words)))
        for _ in range(self.chance.choice(_DEPTHS)):
            value = [value] if name is None else {name: value}
        return value

    def _number(self, value: float) -> Any:
        match self.chance.randrange(4):
            case 0:
                return value + self.chance.choice((-1, 1, 0.5 if abs(value) < 2**53 else 2))
            case 1:
                return -value
            case _:
                return self.chance.choice(_NUMBERS)

    def _text(self, text: str) -> str:
        opened = _opened(text) if self.chance.random() < 0.8 else None
        if opened is not None:
            return opened.close(self._spoilt(self._value(opened.value)))
        match self.chance.randrange(6):
            case 0 | 1:
                return self.chance.choice(self.words)
            case 2:
                place = self.chance.randint(0, len(text))
                return text[:place] + self.chance.choice((*_CHARACTERS, *self.words)) + text[place:]
            case 3:
                return (text or "a") * self._times(text)
            case 4:
                return base64.b64encode(text.encode(errors="replace")).decode()
            case _:
                return self._bytes_of(text)

    def _bytes_of(self, text: str) -> str:
        data = text.encode(errors="surrogatepass")
        return self.octets(data, max(1, self.most)).decode(errors="surrogateescape")

    def _spoilt(self, value: Any) -> str:
        """Write JSON, sometimes with a repeated member, which no Python value can express."""
        text = json.dumps(value)
        names = _WORD_LIKE.findall(text) if self._rarely(0.1) else []
        if not names:
            return text
        place = self.chance.choice([place.start() for place in re.finditer("}", text)])
        return f'{text[:place]},"{self.chance.choice(names)}":{json.dumps(self._other())}{text[place:]}'

    def _times(self, text: str) -> int:
        return min(self.chance.choice(_TIMES), 1 + self.most // (1 + len(text)))

    def _rarely(self, how: float) -> bool:
        return self.chance.random() < how


@dataclass(frozen=True)
class _Opened:
    """The JSON in a text, or the pairs of a form, and how to write the text again."""

    value: Any
    close: Callable[[str], str]


def _opened(text: str) -> _Opened | None:
    """Parse a text that is a JSON object or array, or a form, or the base64 of one (possibly with a seal after it)."""
    plain = _plain(text)
    body, dot, seal = text.partition(".")
    if plain is not None or not _BASE64.fullmatch(body):
        return plain
    try:
        inner = base64.urlsafe_b64decode(body.replace("+", "-").replace("/", "_") + "=" * (-len(body) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None
    opened = _plain(inner)
    if opened is None:
        return None
    is_padded = text.endswith("=") or "+" in text or "/" in text
    return _Opened(opened.value, lambda new: _encoded(opened.close(new), is_padded=is_padded) + dot + seal)


def _plain(text: str) -> _Opened | None:
    if text[:1] in {"{", "["}:
        value = _container(text)
        return None if value is None else _Opened(value, str)
    if _FORM.fullmatch(text):
        return _Opened([list(pair) for pair in parse_qsl(text, keep_blank_values=True)], _form)
    return None


def _form(text: str) -> str:
    """Write the pairs of a form that JSON has; where it has none, the text itself."""
    pairs = _container(text)
    listed = cast(list[Any], pairs) if isinstance(pairs, list) else []
    lists = [cast(list[Any], one) for one in listed if isinstance(one, list)]
    written = [(str(one[0]), str(one[1])) for one in lists if len(one) > 1]
    return urlencode(written, errors="surrogatepass") if written else text


def _places(value: Any) -> list[Any]:
    """Return the places of nested values in a value."""
    if isinstance(value, dict):
        return list(cast(JsonObject, value))
    return list(range(len(cast(list[Any], value)))) if isinstance(value, list) else []


def _weight(value: Any) -> int:
    """Return how often a part is changed: the larger the part, the more often."""
    inner = _places(value)
    return 1 + len(inner) if inner else 8 if isinstance(value, str) and _opened(value) else 1


def _container(text: str) -> Any:
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast(Any, value) if isinstance(value, dict | list) else None


def _encoded(text: str, *, is_padded: bool) -> str:
    data = text.encode(errors="surrogatepass")
    return base64.b64encode(data).decode() if is_padded else base64.urlsafe_b64encode(data).decode().rstrip("=")


def plain_octets(chance: Random) -> Octets:
    """Change bytes without a fuzzer: insert, remove, replace or repeat some."""

    def changed(data: bytes, most: int) -> bytes:
        place, other = chance.randint(0, len(data)), bytes([chance.randrange(256)])
        new = chance.choice(
            (
                data[:place] + other + data[place:],
                data[:place] + data[place + 1 :],
                data[:place] + other + data[place + 1 :],
                data[:place] + data[max(0, place - 8) :],
            )
        )
        return new[:most]

    return changed
