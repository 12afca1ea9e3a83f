"""What the demo shows of extras: an act for each that has one, in the order of the table.

An act is a module `act` in the extra's folder: its function `act` takes the demo. `PARAMETERS` are what the local stack
needs for it, `VARIABLES` what its functions need; the messages of its errors, `REASONS`, are for people.
"""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Final

from stepwire.composition import EXTRAS

_FOLDERS: Final = tuple(f"{__name__}.{extra}" for extra in EXTRAS)
ACTS: Final[tuple[ModuleType, ...]] = tuple(
    import_module(f"{folder}.act") for folder in _FOLDERS if find_spec(folder) and find_spec(f"{folder}.act")
)
