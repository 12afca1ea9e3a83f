"""The name of a tool, from what its state machine is called."""

import hashlib
import re
from collections.abc import Iterable
from typing import Final

from stepwire.catalog.tools import NAME_PATTERN, OWN_TOOLS

_LONGEST_NAME: Final = 64  # many clients take no more
_SUFFIX: Final = re.compile(r"-([A-Za-z0-9]{12,13})$")
_PIECES: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_VOWEL: Final = re.compile(r"[aeiouy]", re.IGNORECASE)
_FEWEST_ODD: Final = 3  # pieces without a vowel, which no words have
# Spellings that are one word, and small words between two capitals.
_ONE_WORD: Final = re.compile(
    r"DynamoDB|DocumentDB|MySQL|PostgreSQL|NoSQL|GraphQL|GitHub|GitLab|OpenAI|OAuth|DevOps|IoT"
)
_PLURAL: Final = re.compile(r"([A-Z]{2,})s(?![a-z])")
_SMALL: Final = re.compile(r"(?<=[A-Z]{2})(to|from|of|and|for|in|on|with|by)(?=[A-Z])")
_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_GENERIC: Final = frozenset(
    {"asl", "statemachine", "statemachines", "definition", "definitions", "workflow", "workflows", "src", "template",
     "stepfunction", "stepfunctions", "sfn", "resources", "machine", "machines", "state", "main", "index", "lib", "app",
     "typescript", "python", "cdk", "sam", "terraform", "tf", "cloudformation", "infra", "infrastructure", "iac",
     "backend"}
)  # fmt: skip
_MINE: Final = ("my", "the", "sample", "example", "demo")


def tool_name(machine: str, taken: Iterable[str] = (), stack: str = "") -> str:
    """Return a name for the tool of a state machine, which no other one has.

    What CloudFormation has put behind the machine's name is left out; the stack helps where it says only that it is
    one.
    """
    title = _without_suffix(machine)
    title = stack if stack and is_generic(title) else title
    title = _PLURAL.sub(lambda found: found[0].capitalize(), _SMALL.sub(r"_\1_", title))
    words = _WORDS.sub("_", _ONE_WORD.sub(lambda found: f"_{found[0].lower()}_", title))
    name = re.sub(r"_+", "_", re.sub(r"[^A-Za-z0-9]+", "_", words)).strip("_").lower()[:_LONGEST_NAME]
    if not NAME_PATTERN.fullmatch(name):
        name = f"workflow_{hashlib.blake2b(machine.encode(), digest_size=4).hexdigest()}"
    used = {*taken, *OWN_TOOLS}
    numbered = (name if number == 1 else f"{name[: _LONGEST_NAME - 4]}_{number}" for number in range(1, len(used) + 2))
    return next(one for one in numbered if one not in used)


def _without_suffix(machine: str) -> str:
    """Leave out what CloudFormation puts behind a name: 12 or 13 letters and digits by chance."""
    found = _SUFFIX.search(machine)
    if found is None or found[1].islower():
        return machine
    pieces = _PIECES.findall(found[1])
    odd = [one for one in pieces if not _VOWEL.search(one)]
    is_by_chance = any(one.isdigit() for one in pieces) or len(odd) >= _FEWEST_ODD
    return machine[: found.start()] if is_by_chance else machine


def is_generic(name: str) -> bool:
    """Tell whether a name says only that something is a state machine."""
    plain = "".join(one for one in name.lower() if one.isalpha()).removesuffix("arn")
    for word in _MINE:
        plain = plain.removeprefix(word)
    return not plain or plain in _GENERIC
