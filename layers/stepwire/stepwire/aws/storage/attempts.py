"""The attribute `state_machine_arn` of a task with a retry policy: a list with the ARN, the policy and its state.

The rule: an earlier version must leave such a task alone. It knows one execution per task, so it would end the task
with the first failure, or start that execution again. It keeps this attribute as it is, and Step Functions refuses the
list where an ARN must be: so it can neither start, find nor end the work. An attribute of a name that it does not know
would be lost with its next save.
"""

from stepwire.aws.storage.times import MILLISECOND, milliseconds_if_any, moment_if_any
from stepwire.json_text import Json, load_json, write
from stepwire.tasks.retries import Attempt, Retry


def text_of(state_machine_arn: str, attempt: Attempt | None) -> str:
    """Return the attribute: of a task without a policy, the ARN."""
    if attempt is None:
        return state_machine_arn
    policy = attempt.policy
    state: Json = {
        "retry": {
            "attempts": policy.attempts,
            "errors": policy.errors,
            "redrives": policy.redrives,
            "may_restart": policy.may_restart,
            "delay_ms": policy.delay // MILLISECOND,
            "backoff": policy.backoff,
            "longest_delay_ms": policy.longest_delay // MILLISECOND,
            "jitter": policy.has_jitter,
        },
        "number": attempt.number,
        "run": attempt.run,
        "redrives": attempt.redrives,
        "begins_at": milliseconds_if_any(attempt.begins_at),
        "after": attempt.after,
        **({} if attempt.first_task is None else {"first_task": attempt.first_task}),
    }
    return write([state_machine_arn, state])


def state_machine_arn_in(text: str) -> str:
    """Return the ARN in the attribute."""
    return load_json(text)[0] if text.startswith("[") else text


def attempt_in(text: str) -> Attempt | None:
    """Return the attempt in the attribute; None of a task without a policy."""
    if not text.startswith("["):
        return None
    state = load_json(text)[1]
    policy = state["retry"]
    return Attempt(
        Retry(
            policy["attempts"],
            tuple(policy["errors"]),
            policy["redrives"],
            policy["may_restart"],
            policy["delay_ms"] * MILLISECOND,
            float(policy["backoff"]),
            policy["longest_delay_ms"] * MILLISECOND,
            policy["jitter"],
        ),
        state["number"],
        state["run"],
        state["redrives"],
        moment_if_any(state["begins_at"]),
        state["after"],
        state.get("first_task"),
    )
