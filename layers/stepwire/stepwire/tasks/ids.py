"""Task ids and execution names, and the way from one to the other.

A task's execution is named after its owner and its id, so a status event leads to its item with no index, and starting
twice is harmless. The names use only letters, digits and hyphens: Step Functions cannot log executions with others.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NewType

from stepwire.principal import Principal

TaskId = NewType("TaskId", str)
"""36 characters: 10 for the time of creation in milliseconds, so that ids sort by age, and 26 for 128 random bits."""

RANDOM_BYTES: Final = 16

# Crockford's base 32 in lower case: sorts like the number, no letters that look alike.
_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_ID_PATTERN: Final = re.compile(f"[{_ALPHABET}]{{36}}")
_EXECUTION_NAME_PATTERN: Final = re.compile(f"([0-9a-f]{{32}})-([{_ALPHABET}]{{36}})")


@dataclass(frozen=True)
class TaskKey:
    """What leads to a task: whose it is and which."""

    owner: Principal
    task_id: TaskId


def new_task_id(created_at: datetime, random: bytes) -> TaskId:
    """Make an id of the moment of creation and 16 random bytes."""
    milliseconds = int(created_at.timestamp() * 1000)
    return TaskId(_encode(milliseconds, 10) + _encode(int.from_bytes(random, "big"), 26))


def created_at_of(task_id: TaskId) -> datetime:
    """Read the moment of creation from an id, in whole milliseconds."""
    milliseconds = 0
    for character in task_id[:10]:
        milliseconds = milliseconds << 5 | _ALPHABET.index(character)
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def task_id_of(text: object) -> TaskId | None:
    """Give the id back if it has the form of one; whether the task exists is another question."""
    return TaskId(text) if isinstance(text, str) and _ID_PATTERN.fullmatch(text) else None


def execution_name_of(key: TaskKey) -> str:
    """Name the execution of a task: 69 of the 80 characters that Step Functions allows."""
    return f"{key.owner}-{key.task_id}"


def task_key_of(execution_name: str) -> TaskKey | None:
    """Find the task of an execution; None where somebody else named it."""
    match = _EXECUTION_NAME_PATTERN.fullmatch(execution_name)
    return TaskKey(Principal(match[1]), TaskId(match[2])) if match else None


def _encode(number: int, length: int) -> str:
    return "".join(_ALPHABET[number >> 5 * place & 31] for place in reversed(range(length)))
