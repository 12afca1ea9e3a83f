"""The tests of the extras: a folder for each, with all that only it needs.

The support of all tests finds an extra's part of it by the name of a module, as the kit finds the extra; so whoever
removes an extra removes its folder here, and the rest goes on.
"""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from stepwire.composition import EXTRAS


@cache
def parts(name: str) -> tuple[ModuleType, ...]:
    """Return the modules of this name that the extras' folders have, in the order of the table.

    Those of two extras, in a folder `with_NAME`, follow those of the extra in whose folder it lies.
    """
    extras = [f"tests.extras.{extra}" for extra in EXTRAS]
    folders = [folder for one in extras for folder in (one, *(f"{one}.with_{other}" for other in EXTRAS))]
    modules = (f"{folder}.{name}" for folder in folders if find_spec(folder.rpartition(".")[0]) and find_spec(folder))
    return tuple(import_module(module) for module in modules if find_spec(module))


def parts_of_the_kit(name: str) -> tuple[ModuleType, ...]:
    """Return the modules of this name that the extras have in the kit, in the order of the table."""
    modules = (f"stepwire.extras.{extra}.{name}" for extra in EXTRAS)
    return tuple(import_module(module) for module in modules if find_spec(module))
