"""The work that expressions over one output may cost, counted in steps, so that a fault is the same on every machine.

A value may contain another one many times over, so its size is counted as if it were written out.
"""

from typing import Final, TypeAlias, cast

from msgspec import Struct, field

from stepwire.json_text import Json

_Container: TypeAlias = list[Json] | dict[str, Json]
_CONTAINERS: Final = frozenset({list, dict})

LARGEST_VALUE: Final = 1_000_000  # bytes of JSON, roughly, of any value on the way
MOST_WORK: Final = 40_000
"""Steps of evaluation, of roughly a microsecond each."""


class EvaluationFault(Exception):
    """An expression has no value for this output; the message says why, without any part of the output."""


class Budget(Struct):
    """The work that the shaping of one output may still cost."""

    left: float = MOST_WORK
    _sizes: dict[int, tuple[object, int]] = field(default_factory=dict[int, tuple[object, int]])

    def charge(self, steps: float) -> None:
        """Take some steps.

        Raises:
            EvaluationFault: there are none left.
        """
        self.left -= steps
        if self.left < 0:
            raise EvaluationFault("it takes too long for an output of this size: select less of it")

    def size_of(self, value: Json) -> int:
        """Return the size of a value as it would be written out, and charge for what is measured for the first time."""
        if not isinstance(value, list | dict):
            return len(value) + 2 if isinstance(value, str) else 8
        whole = cast(_Container, value)
        if id(whole) not in self._sizes:
            self._measure(self._not_measured_in(whole))
        return self._sizes[id(whole)][1]

    # A call at an unlucky depth of Python's stack takes ten times as long: the interpreter maps a block of memory for
    # its frame, and unmaps it again. So the two methods below call no function of Python's for each part of a value.

    def _not_measured_in(self, whole: _Container) -> list[_Container]:
        """Return a list or object and all those in it that have not been measured, each before what is in it."""
        found, work = [whole], 0.0
        for one in found:  # grows on the way
            work += len(one) / 4
            if work > self.left:
                break
            for part in one.values() if isinstance(one, dict) else one:
                if type(part) in _CONTAINERS and id(part) not in self._sizes:
                    found.append(part)  # noqa: PERF401 - a comprehension is a call
        self.charge(work)
        return found

    def _measure(self, containers: list[_Container]) -> None:
        """Measure lists and objects, the last one first."""
        for one in reversed(containers):
            size = 2 + len(one)
            if isinstance(one, dict):
                size += sum(map(len, one)) + 3 * len(one)
            for part in one.values() if isinstance(one, dict) else one:
                if type(part) in _CONTAINERS:
                    size += self._sizes[id(part)][1]
                else:
                    size += len(part) + 2 if isinstance(part, str) else 8
            self._sizes[id(one)] = (one, size)

    def check_size(self, value: Json) -> int:
        """Return the size of a value.

        Raises:
            EvaluationFault: it is too large.
        """
        size = self.size_of(value)
        if size > LARGEST_VALUE:
            raise EvaluationFault(f"its value is larger than {LARGEST_VALUE} bytes of JSON")
        return size
