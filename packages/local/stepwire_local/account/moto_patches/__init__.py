"""A patch for each defect of moto 5.2.5 that matters here.

A patch is a function whose docstring says what it does (`Patch:`) and why (`Defect:`). It gets `replace(owner, name,
value)`; closing the account undoes the replacement. `PATCHES` lists the patches by name. A patch that moto could take
has a text for moto's authors, `packages/local/upstream/<patch>.md`; any other says why it stays here (`Ours:`).
`packages/local/tests/account/test_patches_of_*.py` runs each proof twice: it must pass with the patch and fail without
it. After an upgrade of moto, a proof that passes without its patch shows that the patch can go.
"""

from collections.abc import Callable, Collection, Generator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from stepwire_local.account.moto_patches import (
    branches,
    buckets,
    callbacks,
    changes,
    dispatch,
    distributed_maps,
    dynamodb,
    events,
    executions,
    express,
    expressions,
    functions,
    integrations,
    intrinsics,
    jsonata,
    mails,
    paths,
    states,
    streams,
    stubs,
    topics,
    versions,
    waits,
)

Replace = Callable[[object, str, object], None]
Patch = Callable[[Replace], None]

_ALL: tuple[Patch, ...] = (
    *executions.PATCHES,
    *express.PATCHES,
    *versions.PATCHES,
    *callbacks.PATCHES,
    *branches.PATCHES,
    *paths.PATCHES,
    *integrations.PATCHES,
    *stubs.PATCHES,
    *distributed_maps.PATCHES,
    *jsonata.PATCHES,
    *intrinsics.PATCHES,
    *functions.PATCHES,
    *events.PATCHES,
    *topics.PATCHES,
    *mails.PATCHES,
    *buckets.PATCHES,
    *dynamodb.PATCHES,
    *expressions.PATCHES,
    *dispatch.PATCHES,
    *changes.PATCHES,
    *streams.PATCHES,
    *states.PATCHES,
    *waits.PATCHES,
)
PATCHES: dict[str, Patch] = {patch_function.__name__: patch_function for patch_function in _ALL}


# The replacements of each patch that is in force.
_replaced: dict[str, list[tuple[object, str, object]]] = {}


@contextmanager
def applied(*, without: Collection[str] = ()) -> Generator[None]:
    """Apply every patch except those in `without`, until the block ends.

    A nested block applies nothing again; it lifts the patches that it names until it ends.
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
        original = getattr(owner, attribute, None)
        undo.enter_context(patch.object(owner, attribute, value, create=True))
        _replaced[name].append((owner, attribute, original))

    return replace


def _lift(name: str, undo: ExitStack) -> None:
    for owner, attribute, original in _replaced[name]:
        undo.enter_context(patch.object(owner, attribute, original))
