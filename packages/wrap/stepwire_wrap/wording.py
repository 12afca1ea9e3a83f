"""Whether a description tells a model when to use a tool. Pure: texts in, a sentence out.

The rule: what the console, a sample or `stepwire wrap` itself filled in is named, because nobody has written it.
"""

import re
from typing import Final

RIGHT: Final = (
    'say what the tool does, when to use it, how long it takes: "Refunds a paid order. Use it when its customer wants '
    'the money back. Takes a minute."'
)
"""What to write instead."""
_SHORTEST: Final = 20  # characters; less says no more than the name
_FEWEST_WORDS: Final = 4
_FEWEST_TELLING: Final = 2  # words that are not said of each workflow
_WORD: Final = re.compile(r"[^\W_]+")
_PLACEHOLDERS: Final = re.compile(r"\b(todo|tbd|fixme|lorem ipsum|description here|no description)\b", re.IGNORECASE)
_CONSOLE: Final = re.compile(r"an? description of my state machine\W*", re.IGNORECASE)
_SAMPLE: Final = re.compile(
    r"\W*(?:(?:an?|the|this is an?)\s+)?(?:[\w-]+\s+){0,3}examples? of (?:using )?the (?:amazon )?states language\b"
    r"[\s,.:;-]*",
    re.IGNORECASE,
)
_STATES: Final = re.compile(r"Runs the workflow [^:]{1,100}: .+\.", re.DOTALL)
_UNSPACED: Final = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u2e80-\ud7ff]")  # scripts that part no words by spaces
# Words that are said of each workflow.
_SAID_OF_ALL: Final = frozenset(
    {
        "a", "amazon", "an", "and", "app", "application", "are", "as", "aws", "be", "by", "cdk", "cloudformation",
        "code", "demo", "deploy", "deploying", "deployment", "deploys", "description", "example", "for", "from",
        "function", "functions", "hello", "in", "is", "it", "its", "lambda", "machine", "machines", "my", "of", "on",
        "or", "orchestrate", "orchestrates", "orchestration", "pattern", "project", "resource", "resources", "run",
        "running", "runs", "sam", "sample", "serverless", "service", "simple", "stack", "state", "statemachine",
        "statemachines", "states", "step", "stepfunction", "stepfunctions", "steps", "template", "terraform", "test",
        "that", "the", "this", "to", "use", "uses", "using", "via", "with", "workflow", "workflows", "world",
    }
)  # fmt: skip


def fault_of(description: str, name: str) -> str | None:
    """Say why a model cannot tell from a description when to use a tool; None if it may."""
    text = " ".join(description.split())
    if _PLACEHOLDERS.search(text):
        return "it is a placeholder."
    if _CONSOLE.fullmatch(text):
        return "it is the console's own text, which says nothing of this workflow."
    if _SAMPLE.match(text):
        return "it is the text of a sample, which says nothing of this workflow."
    if _STATES.fullmatch(text):
        return "it only names the states."
    if len(text) < _SHORTEST or not _tells(text, name):
        return "a model cannot tell from it when to use the tool."
    return None


def without_sample_words(description: str) -> str:
    """Return what a sample's text says behind "An example of the Amazon States Language"."""
    return _SAMPLE.sub("", " ".join(description.split()), count=1)


def _tells(text: str, name: str) -> bool:
    """Tell whether a text has enough words, and some that its name does not have."""
    words = [word.lower() for word in _WORD.findall(text)]
    telling = {word for word in words if word not in _SAID_OF_ALL}
    new = [word for word in telling if word not in name.lower()]
    if _UNSPACED.search(text):
        return True
    return len(words) >= _FEWEST_WORDS and len(telling) >= _FEWEST_TELLING and bool(new)
