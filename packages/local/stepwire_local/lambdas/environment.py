"""The environment variables of a function: a view of `os.environ` for the code that runs in that function.

There is one `os.environ` per process, but each function has its own variables. So `os.environ` gets a class whose
mapping methods check a context variable first: inside `variables_of(...)` they use that mapping only, as in Lambda,
where a function sees only the variables of its template; outside they work as usual. The object stays the same, so
earlier imports of it (`from os import environ`) are covered too.

Not covered: child processes, and threads that a function starts (they inherit no context). Both see the process's
variables.
"""

import os
from collections.abc import Generator, Iterator, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar

_variables: ContextVar[MutableMapping[str, str] | None] = ContextVar("variables", default=None)

# Variables of the machine that every program needs to run.
_OF_THE_MACHINE = (
    "HOME",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "PATH",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "TMPDIR",
    "VIRTUAL_ENV",
)


# The class of os.environ has no public name.
class _FunctionEnviron(os._Environ[str]):  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    """`os.environ`, seen from a function."""

    def __getitem__(self, key: str) -> str:
        variables = _variables.get()
        return super().__getitem__(key) if variables is None else variables[key]

    def __setitem__(self, key: str, value: str) -> None:
        variables = _variables.get()
        if variables is None:
            super().__setitem__(key, value)
        else:
            variables[key] = value

    def __delitem__(self, key: str) -> None:
        variables = _variables.get()
        if variables is None:
            super().__delitem__(key)
        else:
            del variables[key]

    def __iter__(self) -> Iterator[str]:
        variables = _variables.get()
        return super().__iter__() if variables is None else iter(list(variables))

    def __len__(self) -> int:
        variables = _variables.get()
        return super().__len__() if variables is None else len(variables)


def separate_function_environments() -> None:
    """Make `os.environ` depend on the running function from now on.

    Permanently: a function that outlives its stack must not see the credentials of the process.
    """
    os.environ.__class__ = _FunctionEnviron


@contextmanager
def variables_of(variables: MutableMapping[str, str]) -> Generator[None]:
    """Show only these variables to the code in the block; its changes go to this mapping."""
    token = _variables.set(variables)
    try:
        yield
    finally:
        _variables.reset(token)


def machine_variables() -> dict[str, str]:
    """Return the variables that every function shares with the machine it runs on."""
    return {name: os.environ[name] for name in _OF_THE_MACHINE if name in os.environ}
