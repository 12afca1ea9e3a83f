"""The names by which stubs and what they stand for find each other. Pure.

The rule: `:` and `/` are one, and case does not count, so that every name can also be a file below `stubs/`:
`sns:publish` is `stubs/sns/publish.json`, the state Pay of OrderPipeline `stubs/OrderPipeline/Pay.json`.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final

_INTEGRATION: Final = "arn:aws:states:::"


def key(name: str) -> str:
    """Return the form in which names are compared."""
    return name.strip().removeprefix(_INTEGRATION).replace(":", "/").casefold()


def keys(names: Iterable[str]) -> Sequence[str]:
    """Return the forms of several names, in their order, each once."""
    return tuple(dict.fromkeys(key(name) for name in names))


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that looks most like a name; None if none does."""
    by_key = {key(one): one for one in known}
    found = get_close_matches(key(name), by_key, n=1)
    return by_key[found[0]] if found else None


def suggested(name: str) -> str:
    """Return the option that gives a name its stub, as a shell takes it."""
    return f"--stub {_quoted(f'{name}=answer.json')}"


def _quoted(text: str) -> str:
    return f"'{text}'" if any(character.isspace() or character in '$&;()<>*?|`"' for character in text) else text
