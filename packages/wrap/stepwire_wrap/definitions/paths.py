"""Paths of JSONPath as state machines use them: where they begin, and which steps they take."""

import re
from dataclasses import dataclass
from typing import Final

from stepwire_wrap.definitions.values import EACH, Path

_STEP: Final = re.compile(
    r"\.\.?(?P<name>[^\s.\[\]()'\",?@$*]+)|\.(?P<all>\*)|\[(?P<quote>['\"])(?P<quoted>.*?)(?P=quote)\]"
    r"|\[(?P<index>-?\d+|\*|-?\d*:-?\d*(?::-?\d+)?|\d+(?:,\d+)+|\(@[^\]]*\))\]|\[\?\((?P<filter>.*?)\)\]"
)
_ROOT: Final = re.compile(r"\$\$|\$(?P<variable>[A-Za-z_][\w]*)?")


@dataclass(frozen=True)
class Reference:
    """A path and where it begins."""

    root: str
    """`$` for the state's data, `$$` for the context object, else the name of a variable."""
    path: Path
    """Its steps, as far as they lead to one part."""
    is_whole: bool = True
    """False: steps that follow are too general to be followed (`..`, a filter's own paths)."""


def reference_of(text: str) -> Reference | None:
    """Return the path that a text is; None if it is none."""
    root = _ROOT.match(text)
    if root is None:
        return None
    steps: list[str] = []
    place = root.end()
    while place < len(text):
        step = _STEP.match(text, place)
        if step is None:
            return Reference(_root(root), tuple(steps), is_whole=False) if steps or text[place] in ".[" else None
        if step[0].startswith("..") or step["all"]:
            return Reference(_root(root), tuple(steps), is_whole=False)
        steps.append(_name(step))
        place = step.end()
    return Reference(_root(root), tuple(steps))


def _root(found: re.Match[str]) -> str:
    return found["variable"] or found[0]


def _name(step: re.Match[str]) -> str:
    if step["name"] is not None:
        return step["name"]
    return step["quoted"] if step["quote"] is not None else EACH
