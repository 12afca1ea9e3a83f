"""Dataclasses that cost little to define, in place of those of the standard library.

A cold start defines 150 classes and makes instances of few. The standard library compiles six methods for each class,
together a third of the CPU time of a cold request. Here all classes share these methods, except `__init__`, which is
compiled when the first instance is made. The rule: they behave as those of the standard library, as far as the package
uses these; `tests/unit/test_lean_dataclasses.py` compares the two.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, field, replace
from functools import cache, partial
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass", "field", "replace"]


def _lean_dataclass(cls: type[Any] | None = None, /, *, frozen: bool = False) -> Any:
    """Make a class a dataclass, as `dataclasses.dataclass` does."""
    return partial(_as_dataclass, frozen=frozen) if cls is None else _as_dataclass(cls, frozen=frozen)


def _as_dataclass(cls: type[Any], *, frozen: bool) -> type[Any]:
    made = dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    hashing = {"__hash__": _hash_of} if frozen else {"__hash__": None}
    freezing = {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete} if frozen else {}
    methods = {"__init__": _init_compiled_later(made), "__repr__": _repr_of, "__eq__": _is_equal, **hashing, **freezing}
    for name, method in methods.items():
        if name not in vars(made):
            setattr(made, name, method)
    return made


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _lean_dataclass


def _init_compiled_later(cls: type) -> Callable[..., None]:
    def __init__(self: object, *arguments: object, **named: object) -> None:  # noqa: N807 - it becomes the method
        # Two threads may both come here; what they compile is the same.
        type.__setattr__(cls, "__init__", compiled := _compiled_init(cls))
        compiled(self, *arguments, **named)

    return __init__


def _compiled_init(cls: type) -> Callable[..., None]:
    """Return the method that sets the fields, in the way that Python runs fastest."""
    known: dict[str, Any] = {"_NOT_GIVEN": MISSING}
    parameters, statements = ["self"], ["values = self.__dict__"]
    for one in dataclasses.fields(cls):
        name, value = one.name, one.name
        if one.default_factory is not MISSING:
            known[f"_new_{name}"] = one.default_factory
            value = f"_new_{name}() if {name} is _NOT_GIVEN else {name}" if one.init else f"_new_{name}()"
        if one.init:
            parameters.append(f"{name}{_default(one, known)}")
        if one.init or one.default_factory is not MISSING:  # else, the default of the class is its value
            statements.append(f"values[{name!r}] = {value}")
    if hasattr(cls, "__post_init__"):
        statements.append("self.__post_init__()")
    text = f"def __init__({', '.join(parameters)}):\n  " + "\n  ".join(statements)
    exec(text, known)  # noqa: S102 - its words are the names of fields, as in the standard library
    method = known["__init__"]
    method.__qualname__ = f"{cls.__qualname__}.__init__"
    return method


def _default(one: "dataclasses.Field[Any]", known: dict[str, Any]) -> str:
    if one.default_factory is not MISSING:
        return "=_NOT_GIVEN"
    if one.default is MISSING:
        return ""
    known[f"_default_{one.name}"] = one.default
    return f"=_default_{one.name}"


def _is_equal(self: object, other: object) -> bool:
    if other.__class__ is not self.__class__:
        return NotImplemented
    compared = _compared(type(self))
    return compared(self) == compared(other)


def _hash_of(self: object) -> int:
    return hash(_compared(type(self))(self))


@cache
def _compared(cls: Any) -> Callable[[object], tuple[object, ...]]:
    """Return what gets the values of the fields that are compared."""
    names = [one.name for one in dataclasses.fields(cls) if one.compare]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


@recursive_repr()
def _repr_of(self: Any) -> str:
    shown = (f"{one.name}={getattr(self, one.name)!r}" for one in dataclasses.fields(self) if one.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_to_set(self: object, name: str, value: object) -> None:
    del self, value
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> None:
    del self
    raise FrozenInstanceError(f"cannot delete field {name!r}")
