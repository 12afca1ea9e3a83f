"""Functions beside a definition that no template names: found by their names in the project's folders.

The rule: a name must fit one function and no other; what is less sure is not read.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from stepwire_wrap.files.functions import SUFFIXES, Entry, core
from stepwire_wrap.files.texts import Unreadable, text_of
from stepwire_wrap.files.walking import walked

_TESTS: Final = frozenset({"tests", "test", "__tests__", "dist", "build", "cdk.out", "coverage"})
_HANDLER: Final = re.compile(
    r"^def (?P<py>\w*handler)\(|^async def (?P<apy>\w*handler)\(|"
    r"\bexports\.(?P<cjs>\w*[hH]andler)\s*=|^export (?:const|let|(?:async )?function) (?P<esm>\w*[hH]andler)\b",
    re.MULTILINE,
)
_TAKES_AN_EVENT: Final = re.compile(
    r"^(?:async )?def (?P<py>\w+)\(event\b[^,()]*,\s*_*(?:context|ctx)\b|"
    r"\bexports\.(?P<cjs>\w+)\s*=\s*(?:async\s*)?(?:function\b[^(]*)?\(\s*event\b|"
    r"^export const (?P<esm>\w+)\s*=\s*(?:async\s*)?\(\s*event\b|^export (?:async )?function (?P<fun>\w+)\(\s*event\b",
    re.MULTILINE,
)
_GENERIC_FILES: Final = frozenset({"", "app", "index", "main", "function", "handler", "lambdafunction", "code", "src"})
_REFERENCE: Final = re.compile(r"\$\{(?P<name>[\w-]+)(?:\.\w+)*\}")
_DEPLOYED: Final = re.compile(r".+?-(?P<id>[A-Za-z]\w*?)(?:[0-9A-F]{6,8})?-(?=\w*\d)[A-Za-z0-9]{11,13}")
"""What CloudFormation calls a function without a name: stack, logical id with the CDK's hash, random letters."""
_STATE_SERVICE: Final = re.compile(r":states:|:activity:")
_MOST: Final = 200  # files
_SURE: Final = 6  # letters of a name that is a part of another


@dataclass(frozen=True)
class LooseCode:
    """The functions in a project's folders."""

    by_name: Mapping[str, Entry | None] = field(default_factory=dict[str, Entry | None])
    """By the core of their names; None: several have it."""
    only: Entry | None = None
    """The only function that there is."""

    @staticmethod
    def of(folder: Path) -> "LooseCode":
        """Return the functions in a folder and in the folders in it."""
        files = [one for one in walked(folder, but=_TESTS) if one.suffix in SUFFIXES][:_MOST]
        entries = [one for one in map(_entry, files) if one is not None]
        alone = {place: number == 1 for place, number in Counter(one.root for one in entries).items()}
        found = _by_name((name, one) for one in entries for name in _names(one.file, folder))
        inside = _by_name((core(one.root.name), one) for one in entries if alone[one.root] and one.root != folder)
        named = {name: one for name, one in inside.items() if name not in _GENERIC_FILES}
        return LooseCode({**named, **found}, entries[0] if len(entries) == 1 else None)

    def entry(self, text: str, texts: Sequence[str]) -> Entry | None:
        """Return the function that a definition means by a text; None unless exactly one fits.

        Args:
            text: an ARN, a name, or a placeholder such as `${ShipFunctionArn}`.
            texts: what else the definition names; two that mean one function mean none.
        """
        meant = [name for one in texts if (name := _meant(one))]
        name = _meant(text)
        if meant.count(name) != 1:
            return None
        if name in self.by_name:
            return self.by_name[name]
        if self.only is not None and len(meant) == 1 and name != "activity":
            return self.only
        alike = [one for one in self.by_name if len(one) >= _SURE and (name.endswith(one) or one.endswith(name))]
        return self.by_name[alike[0]] if len(alike) == 1 and len(name) >= _SURE else None


def _meant(text: str) -> str:
    """Return the core of a function's name in a text."""
    if _STATE_SERVICE.search(text):
        return ""
    if (reference := _REFERENCE.search(text)) is not None:
        return core(reference["name"])
    name = text.rpartition(":function:")[2].partition(":")[0]
    deployed = _DEPLOYED.fullmatch(name)
    return core(name if deployed is None else deployed["id"])


def _by_name(named: Iterable[tuple[str, Entry]]) -> dict[str, Entry | None]:
    """Return the functions by their names; None where several have one."""
    found: dict[str, Entry | None] = {}
    for name, entry in named:
        found[name] = None if name in found else entry
    return found


def _entry(file: Path) -> Entry | None:
    try:
        text = text_of(file)
    except Unreadable:
        return None
    others = list(_TAKES_AN_EVENT.finditer(text))
    found = _HANDLER.search(text) or (others[0] if len(others) == 1 else None)
    if found is None:
        return None
    name = next(one for one in found.groups() if one)
    return Entry(file, name, file.parent, suffix=file.suffix)


def _names(file: Path, folder: Path) -> list[str]:
    """Return what a function may be called: its file, or its folder if the file is called as any other."""
    names = [core(file.stem)]
    for one in file.relative_to(folder).parents:
        if names[-1] not in _GENERIC_FILES:
            break
        names.append(core(one.name))
    return [one for one in names[-1:] if one not in _GENERIC_FILES]
