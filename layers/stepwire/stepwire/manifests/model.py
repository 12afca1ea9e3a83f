"""The model of a manifest with the fields of the extras that are on, and the tool that such a manifest describes.

The rule: an extra adds fields, with their words and checks, by deriving from the core's model (`ManifestFields` in
`stepwire.hooks`); what it keeps of them is its part of the tool. The core's model knows none of them.
"""

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any, Final, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from stepwire.composition import EXTRAS, switched_on
from stepwire.hooks import ManifestFields
from stepwire.manifests.manifest import SHAPES, Manifest

ALL: Final = tuple(EXTRAS)
"""The names of all extras of this release."""


def manifest_model(extras: Collection[str] = ALL) -> type[Manifest]:
    """Return the model with the fields of these extras, in the order of the table of extras."""
    return _composed(frozenset(extras))


@cache
def _composed(extras: frozenset[str]) -> type[Manifest]:
    added = {name: part for name, part in added_by(extras).items() if part.model is not None}
    bases = (*(part.model for part in reversed([*added.values()]) if part.model), Manifest)
    return type("Manifest", bases, {"__module__": __name__, "__doc__": Manifest.__doc__, "added": added})


def added_by(extras: Collection[str]) -> Mapping[str, ManifestFields[Any]]:
    """Return what the extras among these that add to a manifest add, by their names."""
    return {one.name: one.fields() for one in switched_on(extras) if one.fields is not None}


def extra_of(field: str) -> str | None:
    """Return the extra of this release whose field it is; None if it is none's."""
    models = ((name, part.model) for name, part in added_by(EXTRAS).items() if part.model is not None)
    is_new = field not in Manifest.model_fields
    return next((name for name, model in models if is_new and field in model.model_fields), None)


def shapes(model: type[Manifest]) -> Mapping[str, str]:
    """Return what a text must be, by its pattern, in a model."""
    return SHAPES | {pattern: words for part in model.added.values() for pattern, words in part.shapes.items()}


@cache
def fields(model: type[BaseModel]) -> Mapping[str, FieldInfo]:
    """Return all fields of a model by their paths, such as `race.arms.name`, in their order."""
    return dict(_fields_of(model, ""))


def _fields_of(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, FieldInfo]]:
    for name, field in model.model_fields.items():
        path = f"{prefix}{field.alias or name}"
        yield path, field
        inner = model_of(field)
        if inner is not None:
            yield from _fields_of(inner, f"{path}.")


def model_of(field: FieldInfo) -> type[BaseModel] | None:
    """Return the model of a field that has fields of its own, or is a list of such."""
    waiting: list[Any] = [field.annotation]
    for kind in waiting:
        waiting += get_args(kind)
    return next((kind for kind in waiting if isinstance(kind, type) and issubclass(kind, BaseModel)), None)
