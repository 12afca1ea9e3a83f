"""Task ids, execution names, and the mapping between them.

An execution's name contains its task's owner and id. So a status event leads to its item without an index, and starting
is idempotent. The name begins with the prefix of its endpoint, so one event pattern and one permission cover the
executions of every state machine. Names use only letters, digits and hyphens: Step Functions does not log executions
with other names.
"""

import re
from datetime import UTC, datetime
from typing import Final, NewType

from msgspec import Struct

from stepwire.principal import Principal

TaskId = NewType("TaskId", str)
"""36 characters: 10 for the time of creation in milliseconds, so that ids sort by age, and 26 for 128 random bits."""

RANDOM_BYTES: Final = 16
ID_LENGTH: Final = 36

# Crockford's base 32 in lower case: sorts like the number, without letters that look alike.
_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
ID_PATTERN: Final = re.compile(f"[{_ALPHABET}]{{36}}")
_PRINCIPALS: Final = 1 << 128  # 26 characters have room for more
LETTERS: Final = "abcde"
"""Of the arms of a race, in the order of the manifest. An execution's name has room for one letter."""
LONGEST_PREFIX: Final = 12
"""Characters of an execution prefix. Name and prefix leave 5 of Step Functions' 80 to a suffix."""
_PREFIX_PATTERN: Final = re.compile(f"[a-z0-9]{{1,{LONGEST_PREFIX - 1}}}-")
# Of an execution that retries the task's first one (`retries`), and of an arm of a race (`races`), perhaps retried.
_SUFFIX_PATTERN: Final = "(?:-r(?:[2-9]|10)|-[a-e](?:r(?:[2-9]|10))?)?"
_EXECUTION_NAME_PATTERN: Final = re.compile(
    f"(?:{_PREFIX_PATTERN.pattern})([{_ALPHABET}]{{26}})-([{_ALPHABET}]{{36}}){_SUFFIX_PATTERN}"
)


class TaskKey(Struct, frozen=True):
    """The key of a task: its owner and its id."""

    owner: Principal
    task_id: TaskId


def new_task_id(created_at: datetime, random: bytes) -> TaskId:
    """Return a new id from the time of creation and 16 random bytes."""
    milliseconds = int(created_at.timestamp() * 1000)
    return TaskId(_encode(milliseconds, 10) + _encode(int.from_bytes(random, "big"), 26))


def created_at_of(task_id: TaskId) -> datetime:
    """Return the time of creation that an id contains, in whole milliseconds."""
    return datetime.fromtimestamp(_decode(task_id[:10]) / 1000, UTC)


def task_id_of(text: object) -> TaskId | None:
    """Return the text as a task id if it is well-formed, else None. The task need not exist."""
    return TaskId(text) if isinstance(text, str) and ID_PATTERN.fullmatch(text) else None


def execution_prefix_of(text: str) -> str | None:
    """Return the text if it can begin the names of executions, else None.

    The only hyphen is its last character, so no prefix is the beginning of another one.
    """
    return text if _PREFIX_PATTERN.fullmatch(text) else None


def execution_name_of(key: TaskKey, prefix: str, suffix: str = "") -> str:
    """Return the name of a task's execution: without a suffix, at most 75 of the 80 characters of Step Functions."""
    return f"{prefix}{_encode(int(key.owner, 16), 26)}-{key.task_id}{suffix}"


def task_key_from_execution(execution_name: str) -> TaskKey | None:
    """Return the key of an execution's task; None if Stepwire did not start the execution."""
    match = _EXECUTION_NAME_PATTERN.fullmatch(execution_name)
    if match is None:
        return None
    owner = _decode(match[1])
    return TaskKey(Principal(f"{owner:032x}"), TaskId(match[2])) if owner < _PRINCIPALS else None


def _encode(number: int, length: int) -> str:
    return "".join(_ALPHABET[number >> 5 * place & 31] for place in reversed(range(length)))


def _decode(text: str) -> int:
    number = 0
    for character in text:
        number = number << 5 | _ALPHABET.index(character)
    return number
