"""The attribute `race` of a task whose machines race: the arms and their state, as JSON.

The rule: it says of an arm only what differs from the others and from the beginning, so that most heads have room for
all arms in one read unit. An arm without `arn` runs the task's own state machine.
"""

from stepwire.aws.storage import attempts
from stepwire.aws.storage.times import MILLISECOND
from stepwire.json_text import JsonObject, load_json, write
from stepwire.tasks.races import NO_RETRY, Arm, Race, Standing
from stepwire.tasks.retries import Attempt, Retry


def text_of_race(race: Race, machine: str) -> str:
    """Return a race of a task with that state machine, as JSON text."""
    policy = race.arms[0].attempt.policy
    entry: JsonObject = {
        "quorum": race.quorum,
        **({} if race.slots == 1 else {"slots": race.slots}),
        **({} if policy == NO_RETRY else {"retry": attempts.entry_of_policy(policy)}),
        "arms": [_entry_of(arm, machine) for arm in race.arms],
    }
    return write(entry)


def race_in(text: str, machine: str) -> Race:
    """Return a race from its JSON text."""
    entry = load_json(text)
    policy = attempts.policy_of(entry["retry"]) if "retry" in entry else NO_RETRY
    arms = tuple(_arm_of(one, machine, policy) for one in entry["arms"])
    return Race(arms, entry["quorum"], entry.get("slots", 1))


def _entry_of(arm: Arm, machine: str) -> JsonObject:
    state = attempts.state_of(arm.attempt)
    unlike: JsonObject = {
        "arn": "" if arm.state_machine_arn == machine else arm.state_machine_arn,
        "role": arm.role,
        "constants": arm.constants,
        "delay_ms": arm.delay // MILLISECOND,
        "place": arm.place,
        "error": arm.error,
        **({} if arm.is_open else {"standing": arm.standing.value}),
        **({} if arm.attempt == Attempt(arm.attempt.policy) else {"attempt": list(state.values())}),
    }
    kept = {name: value for name, value in unlike.items() if value}
    return {"name": arm.name, "letter": arm.letter, **kept}


def _arm_of(entry: JsonObject, machine: str, policy: Retry) -> Arm:
    names = attempts.state_of(Attempt(policy))
    state = dict(zip(names, entry["attempt"], strict=True)) if "attempt" in entry else names
    return Arm(
        entry["name"],
        entry["letter"],
        entry.get("arn", machine),
        entry.get("role", ""),
        entry.get("constants", ""),
        entry.get("delay_ms", 0) * MILLISECOND,
        attempts.attempt_of(policy, state),
        Standing(entry.get("standing", Standing.OPEN.value)),
        entry.get("place", 0),
        entry.get("error", ""),
    )
