"""The work that expressions over one output may cost, counted in steps, so that a fault is the same on every machine.

A value may contain another one many times over, so its size is counted as if it were written out.
"""

from dataclasses import dataclass, field
from typing import Final, cast

from stepwire.json_text import Json

LARGEST_VALUE: Final = 1_000_000  # bytes of JSON, roughly, of any value on the way
MOST_WORK: Final = 40_000
"""Steps of evaluation, of roughly a microsecond each."""


class EvaluationFault(Exception):
    """An expression has no value for this output; the message says why, without any part of the output."""


@dataclass
class Budget:
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
        if isinstance(value, str):
            return len(value) + 2
        if not isinstance(value, list | dict):
            return 8
        known = self._sizes.get(id(cast(object, value)))
        if known is not None:
            return known[1]
        items = cast(list[Json], value)
        self.charge(len(items) / 4)
        if isinstance(value, dict):
            members = cast(dict[str, Json], value)
            size = 2 + sum(len(name) + 4 + self.size_of(one) for name, one in members.items())
        else:
            size = 2 + sum(1 + self.size_of(one) for one in items)
        self._sizes[id(cast(object, value))] = (cast(object, value), size)
        return size

    def check_size(self, value: Json) -> int:
        """Return the size of a value.

        Raises:
            EvaluationFault: it is too large.
        """
        size = self.size_of(value)
        if size > LARGEST_VALUE:
            raise EvaluationFault(f"its value is larger than {LARGEST_VALUE} bytes of JSON")
        return size
