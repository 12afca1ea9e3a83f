"""Let a mutant's code take the place of the code in this process, whoever holds the function.

Functions that exist get the changed code; a module that is loaded afterwards (a function of the stack may have its own
copy) is compiled from the changed text.
"""

import gc
from collections import defaultdict
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from tools.mutants.mutations import ROOT, Mutant, codes


class Functions:
    """The functions of this checkout that exist when it is made."""

    def __init__(self) -> None:
        self._of: dict[str, list[FunctionType]] = defaultdict(list)
        gc.unfreeze()  # conftest.py freezes what the collection of the tests made
        for one in gc.get_objects():
            if type(one) is FunctionType and one.__code__.co_filename.startswith(str(ROOT)):
                self._of[one.__code__.co_filename].append(one)
        gc.freeze()

    def replace(self, mutant: Mutant) -> None:
        """Replace the code of a file, for the rest of this process."""
        path = str(ROOT / mutant.file)
        before = dict(codes(Path(path).read_text(encoding="utf-8"), path))
        after = dict(codes(mutant.source, path))
        place_of = {(code.co_qualname, code.co_firstlineno): place for place, code in before.items()}
        for function in self._of[path]:
            code = function.__code__
            place = place_of.get((code.co_qualname, code.co_firstlineno))
            if place in after:
                function.__code__ = after[place]
        _load_from(path, mutant.source)


def _load_from(path: str, source: str) -> None:
    loader: Any = SourceFileLoader
    get_code = loader.get_code

    def changed(self: Any, fullname: str) -> CodeType:
        return compile(source, path, "exec") if self.path == path else get_code(self, fullname)

    loader.get_code = changed
