"""Races: which ends count, which arm starts when, and what callers read of it."""

from datetime import timedelta
from typing import Final

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepwire.tasks.ids import task_key_from_execution
from stepwire.tasks.races import LONGEST_ERROR, META_RACE, ArmEnd, Race, Standing, after_end
from stepwire.tasks.retries import Attempt, Retry
from tests.fakes import START_OF_TIME
from tests.kits import World
from tests.races import arms, racing

NOW: Final = START_OF_TIME
LATER: Final = NOW + timedelta(days=1)
ENDS: Final = st.sampled_from([one for one in Standing if one is not Standing.OPEN])
RETRY: Final = Retry(2, ("States.ALL",), delay=timedelta(minutes=1))


def end(letter: str, standing: Standing = Standing.FAILED, run: int = 1, error: str | None = None) -> ArmEnd:
    return ArmEnd(letter, run, 0 if error else 10, standing, error, "Busy", "it broke")


def ended(race: Race, *ends: ArmEnd) -> Race:
    for one in ends:
        race = after_end(race, one, "a task", NOW, LATER)
    return race


@given(st.integers(2, 5).flatmap(lambda count: st.tuples(st.just(count), st.integers(1, count))), st.data())
def test_in_any_order_of_ends_there_is_a_winner_or_the_race_is_lost_and_both_stay(
    size: tuple[int, int], data: st.DataObject
) -> None:
    count, quorum = size
    race, decided = Race(arms(count), quorum), False
    order = data.draw(st.permutations("abcde"[:count]))
    for letter in [*order, *order]:  # each twice
        race = ended(race, end(letter, data.draw(ENDS)))
        is_decided = race.winner is not None or race.is_lost
        assert is_decided or not decided
        decided = is_decided

    assert (race.winner is None) is race.is_lost
    assert sorted(arm.place for arm in race.arms if arm.place) == list(range(1, race.successes + 1))


def test_an_arm_that_has_ended_never_changes() -> None:
    race = ended(Race(arms()), end("a"))

    assert ended(race, end("a", Standing.SUCCEEDED)) is race


def test_an_end_of_an_earlier_attempt_changes_nothing() -> None:
    race = Race(tuple(replace(arm, attempt=Attempt(RETRY)) for arm in arms()))
    second = ended(race, end("a", error="Busy"))

    assert second.arm("a").attempt.begins_at == NOW + timedelta(minutes=1)
    assert ended(second, end("a", error="Busy")) is second
    assert ended(second, end("a", run=2, error="Busy")).arm("a").standing is Standing.FAILED


def test_no_attempt_of_an_arm_begins_after_the_expiry() -> None:
    race = Race(tuple(replace(arm, attempt=Attempt(RETRY)) for arm in arms()))

    after = after_end(race, end("a", error="Busy"), "a task", NOW, NOW + timedelta(minutes=1))

    assert after.arm("a").standing is Standing.FAILED


def test_a_failure_starts_as_many_waiting_arms_as_the_quorum_lacks() -> None:
    race = Race(arms(5, (0, 0, 30, 20, 10)), quorum=2).begun(NOW)

    one = ended(race, end("a"))
    two = ended(one, end("b"))

    assert [arm.letter for arm in one.due(NOW)] == ["b", "e"]
    assert [arm.letter for arm in two.due(NOW)] == ["d", "e"]


def test_a_failure_starts_no_arm_while_enough_others_run() -> None:
    race = Race(arms(3, (0, 0, 30))).begun(NOW)

    assert [arm.letter for arm in ended(race, end("a")).due(NOW)] == ["b"]


def test_arms_that_become_due_before_an_end_is_saved_may_run() -> None:
    race = Race(arms(3, (0, 30, 3600))).begun(NOW)

    assert [arm.letter for arm in race.left_running(NOW)] == ["a", "b"]
    assert [arm.letter for arm in race.left_running(NOW, NOW)] == ["a"]
    assert [arm.letter for arm in race.left_running(NOW, NOW + timedelta(hours=2))] == ["a", "b"]


def test_the_result_says_what_became_of_each_arm() -> None:
    race = ended(Race(arms(4, (0, 0, 0, 3600))).begun(NOW), end("a"), end("b", Standing.SUCCEEDED))

    assert race.result_meta(NOW) == {
        META_RACE: {
            "winner": "slow",
            "arms": [
                {"name": "fast", "outcome": "failed"},
                {"name": "slow", "outcome": "succeeded"},
                {"name": "spare", "outcome": "stopped"},
                {"name": "fourth", "outcome": "not_started"},
            ],
        }
    }


def test_the_errors_of_arms_are_short_enough_for_the_head_of_a_task() -> None:
    race = ended(Race(arms()), replace(end("a"), text="x" * 1_000))

    assert len(race.arm("a").error) == LONGEST_ERROR


def test_the_names_of_all_executions_lead_to_their_task() -> None:
    task = World().call(racing(5, retry=Retry(10, ("States.ALL",))))
    assert task.race is not None

    for arm in task.race.arms:
        for run in (1, 2, 10):
            name = task.execution_of(replace(arm, attempt=replace(arm.attempt, run=run))).name
            assert task_key_from_execution(name) == task.key
            assert len(name) <= 80 - len("stepwire-pref") + len("sw-") + 10
    assert task_key_from_execution(f"{task.execution.name[:-1]}f") is None
