"""The defects of moto 5.2.5 that stand in our way, and a patch for each.

A patch is a function whose docstring names the defect; it is given `replace(owner, name, value)`, which is undone when
the account closes. Each is in `PATCHES` under its name, and `tests/local/test_patches_of_*.py` prove each one twice:
with it the behaviour is AWS's, without it it is not. So the pin can be raised by looking at which proofs no longer
need their patch.
"""

from collections.abc import Callable, Collection, Generator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from local.moto_patches import (
    branches,
    callbacks,
    dynamodb,
    events,
    executions,
    functions,
    integrations,
    jsonata,
    streams,
)

Replace = Callable[[object, str, object], None]
Patch = Callable[[Replace], None]

_ALL: tuple[Patch, ...] = (
    *executions.PATCHES,
    *callbacks.PATCHES,
    *branches.PATCHES,
    *integrations.PATCHES,
    *jsonata.PATCHES,
    *functions.PATCHES,
    *events.PATCHES,
    *dynamodb.PATCHES,
    *streams.PATCHES,
)
PATCHES: dict[str, Patch] = {mended.__name__: mended for mended in _ALL}


# What each patch that is in force has replaced.
_replaced: dict[str, list[tuple[object, str, object]]] = {}


@contextmanager
def applied(*, without: Collection[str] = ()) -> Generator[None]:
    """Apply every patch but the named ones, until the block ends.

    A block inside another adds nothing to it; the patches that it names are lifted for its time.
    """
    with ExitStack() as undo:
        for name, apply in PATCHES.items():
            if name in _replaced:
                if name in without:
                    _lift(name, undo)
            elif name not in without:
                _replaced[name] = []
                undo.callback(_replaced.pop, name)
                apply(_replacer(name, undo))
        yield


def _replacer(name: str, undo: ExitStack) -> Replace:
    def replace(owner: object, attribute: str, value: object) -> None:
        original = getattr(owner, attribute)
        undo.enter_context(patch.object(owner, attribute, value))
        _replaced[name].append((owner, attribute, original))

    return replace


def _lift(name: str, undo: ExitStack) -> None:
    for owner, attribute, original in _replaced[name]:
        undo.enter_context(patch.object(owner, attribute, original))
