"""The defects of moto 5.2.5 that stand in our way, and a patch for each.

A patch is a function whose docstring names the defect; it is given `replace(owner, name, value)`, which is undone when the
account closes. Each is in `PATCHES` under its name, and `tests/local/test_moto_patches.py` proves each one twice: with it the
behaviour is AWS's, without it it is not. So the pin can be raised by looking at which proofs no longer need their patch.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from local.moto_patches import callbacks, dynamodb, events, executions, functions, integrations, jsonata

Replace = Callable[[object, str, object], None]
Patch = Callable[[Replace], None]

_ALL: tuple[Patch, ...] = (
    *executions.PATCHES,
    *callbacks.PATCHES,
    *integrations.PATCHES,
    *jsonata.PATCHES,
    *functions.PATCHES,
    *events.PATCHES,
    *dynamodb.PATCHES,
)
PATCHES: dict[str, Patch] = {patch.__name__: patch for patch in _ALL}


@contextmanager
def applied(*, without: Collection[str] = ()) -> Iterator[None]:
    """Apply every patch but the named ones, until the block ends."""
    with ExitStack() as undo:

        def replace(owner: object, name: str, value: object) -> None:
            undo.enter_context(patch.object(owner, name, value, create=not hasattr(owner, name)))

        for name, apply in PATCHES.items():
            if name not in without:
                apply(replace)
        yield
