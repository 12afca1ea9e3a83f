"""The attribute `state_machine_arn` of a task with a retry policy: a list with the ARN, the policy and its state.

The rule: an earlier version must leave such a task alone. It knows one execution per task, so it would end the task
with the first failure, or start that execution again. It keeps this attribute as it is, and Step Functions refuses the
list where an ARN must be: so it can neither start, find, nor end the work. An attribute of a name that it does not know
would be lost with its next save. Of a task whose machines race, `races` defines the list.
"""

from typing import TYPE_CHECKING

from stepwire.aws.storage.times import MILLISECOND, milliseconds_if_any, moment_if_any
from stepwire.json_text import JsonObject, load_json, write
from stepwire.lean_dataclasses import dataclass
from stepwire.tasks.retries import Attempt, Retry
from stepwire.tasks.task import Task

if TYPE_CHECKING:
    from stepwire.tasks.races import Race


@dataclass(frozen=True)
class StoredWork:
    """What the attribute says."""

    state_machine_arn: str
    attempt: Attempt | None = None
    race: "Race | None" = None


def text_of(task: Task) -> str:
    """Return the attribute: of a task without a policy, the ARN."""
    if task.race is not None:
        from stepwire.aws.storage.races import list_of  # noqa: PLC0415 - few tasks are races

        return write(list_of(task.race))
    if task.attempt is None:
        return task.work.state_machine_arn
    state = {"retry": entry_of_policy(task.attempt.policy), **state_of(task.attempt)}
    return write([task.work.state_machine_arn, state])


def read(text: str) -> StoredWork:
    """Read the attribute."""
    if not text.startswith("["):
        return StoredWork(text)
    found = load_json(text)
    if found[0].startswith("{"):
        from stepwire.aws.storage.races import race_in  # noqa: PLC0415 - few tasks are races

        race = race_in(found[0])
        return StoredWork(race.arms[0].state_machine_arn, race=race)
    return StoredWork(found[0], attempt_of(policy_of(found[1]["retry"]), found[1]))


def entry_of_policy(policy: Retry) -> JsonObject:
    """Return a policy as it is stored."""
    return {
        "attempts": policy.attempts,
        "errors": policy.errors,
        "redrives": policy.redrives,
        "may_restart": policy.may_restart,
        "delay_ms": policy.delay // MILLISECOND,
        "backoff": policy.backoff,
        "longest_delay_ms": policy.longest_delay // MILLISECOND,
        "jitter": policy.has_jitter,
    }


def policy_of(entry: JsonObject) -> Retry:
    """Return a stored policy."""
    return Retry(
        entry["attempts"],
        tuple(entry["errors"]),
        entry["redrives"],
        entry["may_restart"],
        entry["delay_ms"] * MILLISECOND,
        float(entry["backoff"]),
        entry["longest_delay_ms"] * MILLISECOND,
        entry["jitter"],
    )


def state_of(attempt: Attempt) -> JsonObject:
    """Return an attempt as it is stored, without its policy."""
    return {
        "number": attempt.number,
        "run": attempt.run,
        "redrives": attempt.redrives,
        "begins_at": milliseconds_if_any(attempt.begins_at),
        "after": attempt.after,
        **({} if attempt.first_task is None else {"first_task": attempt.first_task}),
    }


def attempt_of(policy: Retry, state: JsonObject) -> Attempt:
    """Return a stored attempt."""
    return Attempt(
        policy,
        state["number"],
        state["run"],
        state["redrives"],
        moment_if_any(state["begins_at"]),
        state["after"],
        state.get("first_task"),
    )
