"""The attribute `state_machine_arn` of a task whose machines race: a list with its arms and their state.

The rule: every earlier version must be able to read and save the task, and must leave its work alone. So the list is
that of a task with a retry policy (`attempts`), with an attempt that nothing follows. In place of the ARN is the race,
as JSON text: a version that knows retries keeps that as it is, and Step Functions refuses every call with it.
"""

from stepwire.aws.storage import attempts
from stepwire.aws.storage.times import MILLISECOND
from stepwire.json_text import Json, JsonObject, load_json, write
from stepwire.tasks.races import NO_RETRY, Arm, Race, Standing
from stepwire.tasks.retries import Attempt, Retry


def list_of(race: Race) -> Json:
    """Return a race as it is stored."""
    policy = race.arms[0].attempt.policy
    single: JsonObject = {"retry": attempts.entry_of_policy(NO_RETRY), **attempts.state_of(Attempt(NO_RETRY))}
    entry: JsonObject = {
        "quorum": race.quorum,
        **({} if race.slots == 1 else {"slots": race.slots}),
        **({} if policy == NO_RETRY else {"retry": attempts.entry_of_policy(policy)}),
        "arms": list(map(_entry_of, race.arms)),
    }
    return [write(entry), single]


def race_in(text: str) -> Race:
    """Return a stored race."""
    entry = load_json(text)
    policy = attempts.policy_of(entry["retry"]) if "retry" in entry else NO_RETRY
    arms = tuple(_arm_of(one, policy) for one in entry["arms"])
    return Race(arms, entry["quorum"], entry.get("slots", 1))


def _entry_of(arm: Arm) -> JsonObject:
    """Return an arm without what it has in common with most: most heads have room for all arms in one read unit."""
    state = attempts.state_of(arm.attempt)
    unlike: JsonObject = {
        "role": arm.role,
        "constants": arm.constants,
        "delay_ms": arm.delay // MILLISECOND,
        "place": arm.place,
        "error": arm.error,
        **({} if arm.is_open else {"standing": arm.standing.value}),
        **({} if arm.attempt == Attempt(arm.attempt.policy) else {"attempt": list(state.values())}),
    }
    kept = {name: value for name, value in unlike.items() if value}
    return {"name": arm.name, "letter": arm.letter, "arn": arm.state_machine_arn, **kept}


def _arm_of(entry: JsonObject, policy: Retry) -> Arm:
    names = attempts.state_of(Attempt(policy))
    state = dict(zip(names, entry["attempt"], strict=True)) if "attempt" in entry else names
    return Arm(
        entry["name"],
        entry["letter"],
        entry["arn"],
        entry.get("role", ""),
        entry.get("constants", ""),
        entry.get("delay_ms", 0) * MILLISECOND,
        attempts.attempt_of(policy, state),
        Standing(entry.get("standing", Standing.OPEN.value)),
        entry.get("place", 0),
        entry.get("error", ""),
    )
