"""Which states no way avoids: as a search without each state says."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as some

from stepwire_wrap.definitions.ways import unavoidable

Ways = Mapping[str, list[str]]


@pytest.mark.parametrize(
    ("ways", "ends", "expected"),
    [
        pytest.param({"a": ["b"], "b": ["c"], "c": []}, "c", "abc", id="a chain"),
        pytest.param({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}, "d", "ad", id="two branches that join"),
        pytest.param({"a": ["b", "c"], "b": [], "c": []}, "bc", "a", id="two ends"),
        pytest.param({"a": ["b"], "b": ["a", "c"], "c": []}, "c", "abc", id="a loop back"),
        pytest.param({"a": ["b", "x"], "x": ["c"], "b": ["c"], "c": ["d"], "d": []}, "d", "acd", id="a detour"),
        pytest.param({"a": ["b"], "b": ["c"], "c": []}, "bc", "ab", id="an end on the way"),
        pytest.param({"a": ["b"], "b": ["a"]}, "", "ab", id="no end"),
        pytest.param({"a": ["nothing"]}, "a", "a", id="a state that is not there"),
        pytest.param({"b": []}, "b", "b", id="a start that is not there"),
    ],
)
def test_states_that_no_way_avoids(ways: Ways, ends: str, expected: str) -> None:
    assert unavoidable("a", ways, set(ends)) == set(expected)


@given(
    some.dictionaries(some.sampled_from("abcdefg"), some.lists(some.sampled_from("abcdefgh"), max_size=4), min_size=1),
    some.sets(some.sampled_from("abcdefg"), max_size=3),
)
def test_the_result_is_that_of_a_search_without_each_state(ways: Ways, ends: set[str]) -> None:
    assert unavoidable("a", ways, ends) == {name for name in ways if not ends_are_reached("a", ways, ends, name)}


class Counted(dict[str, list[str]]):
    """The ways of a state machine, with a count of how often one is looked up."""

    looks = 0

    def __getitem__(self, name: str) -> list[str]:
        self.looks += 1
        return super().__getitem__(name)


def test_the_states_of_a_definition_of_1_mb_are_looked_at_twice_each() -> None:
    names = [str(number) for number in range(20_000)]
    chain = Counted({name: [after] for name, after in zip(names, [*names[1:], "no state"], strict=True)})

    assert len(unavoidable(names[0], chain, {names[-1]})) == len(names)
    assert chain.looks <= 2 * len(names)


def ends_are_reached(start: str, ways: Ways, ends: set[str], without: str) -> bool:
    waiting, known = [start], {start}
    while waiting:
        name = waiting.pop()
        if name == without or name not in ways:
            continue
        if name in ends:
            return True
        waiting += [to for to in ways[name] if to not in known]
        known |= set(ways[name])
    return False
