"""The attribute `attempt` of a task with a retry policy, as JSON: the policy, and the attempt that runs or is next."""

from stepwire.aws.storage.times import MILLISECOND, milliseconds_if_any, moment_if_any
from stepwire.json_text import JsonObject, load_json, write
from stepwire.tasks.retries import Attempt, Retry


def text_of_attempt(attempt: Attempt) -> str:
    """Return an attempt with its policy, as JSON text."""
    return write({"retry": entry_of_policy(attempt.policy), **state_of(attempt)})


def attempt_in(text: str) -> Attempt:
    """Return an attempt from its JSON text."""
    found = load_json(text)
    return attempt_of(policy_of(found["retry"]), found)


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
