"""Whether a state that asks through Stepwire asks again when its question could not be recorded.

The rule: what docs/talking_workflows.md proposes is enough, and so is any `Retry` that goes on for minutes too. As in
Step Functions, the first retrier that names an error decides.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from stepwire.json_text import Json, JsonObject, objects_in, write
from stepwire.manifests.definitions import PlacedState
from stepwire_wrap.definitions.asking import RETRY
from stepwire_wrap.definitions.questions import places_of_questions
from stepwire_wrap.definitions.timings import spoken

_NOT_RECORDED: Final = "Stepwire.NotRecorded"
_HOPELESS: Final = ("Stepwire.InputNotSupported", "Stepwire.InvalidInputRequest")
_ANY: Final = frozenset({"States.ALL", "States.TaskFailed"})
_SHORTEST: Final = 120.0  # seconds on average
_MOST_WAITS: Final = 1_000
_WHOLE: Final = f'"Retry": {write(RETRY)}'


class _Unknown(Exception):
    """A number is known only when the stack is deployed."""


def unretried(definition: JsonObject) -> Iterator[tuple[PlacedState, str, str]]:
    """Yield each state whose question may be lost: where it is, what it lacks and what to add."""
    for place in places_of_questions(definition):
        try:
            lack = _lack(objects_in(place.state.get("Retry")))
        except _Unknown:
            continue
        if lack is not None:
            yield place, *lack


def _lack(retriers: list[JsonObject]) -> tuple[str, str] | None:
    own = _for(_NOT_RECORDED, retriers)
    if own is None or not (seconds := _seconds(own)):
        return f"has no Retry for a question that could not be recorded ({_NOT_RECORDED})", f"add {_WHOLE}"
    if seconds < _SHORTEST:
        lasts = f"tries again for {spoken(seconds)} only if its question could not be recorded ({_NOT_RECORDED})"
        return lasts, f"AWS may throttle for minutes: write {_WHOLE}"
    for error in _HOPELESS:
        hopeless = _for(error, retriers)
        if hopeless is not None and _seconds(hopeless):
            return f"retries {error}, which a retry cannot fix", f"put {write(RETRY[0])} first in its Retry"
    return None


def _for(error: str, retriers: list[JsonObject]) -> JsonObject | None:
    return next((one for one in retriers if not _ANY.union([error]).isdisjoint(one.get("ErrorEquals", ()))), None)


def _seconds(retrier: JsonObject) -> float:
    """Return how long a retrier waits in all; random delays count half."""
    half = 0.5 if retrier.get("JitterStrategy") == "FULL" else 1.0
    return half * sum(islice(_waits(retrier), _MOST_WAITS))


def _waits(retrier: JsonObject) -> Iterator[float]:
    wait, rate = _number(retrier.get("IntervalSeconds", 1)), _number(retrier.get("BackoffRate", 2.0))
    longest = _number(retrier.get("MaxDelaySeconds", 31_622_400))
    for _ in range(int(_number(retrier.get("MaxAttempts", 3)))):
        yield min(wait, longest)
        wait = min(wait * rate, longest)


def _number(value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Unknown
    return float(value)
