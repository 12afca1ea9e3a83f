"""The model of a manifest with the fields of the extras that are on, and the files beside it that an extra takes.

The rule: an extra adds fields, with their words and checks, by deriving from the core's model (`ManifestFields` in
`stepwire.hooks`); what it keeps of them is its part of the tool. The core's model knows none of them.
"""

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from stepwire.composition import EXTRAS, switched_on
from stepwire.hooks import ManifestFields
from stepwire.manifests.manifest import SHAPES, Manifest
from stepwire.manifests.published import Checked, Owners, Refusal, ToolFile

ALL: Final = tuple(EXTRAS)
"""The names of all extras of this release."""
_NOT_TAKEN: Final = "no extra of this endpoint takes files beside a manifest: remove them"


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


def main_file(extras: Collection[str] = ALL) -> str | None:
    """Return the name of the file that every folder beside a manifest has; None: no extra takes files."""
    return next((part.files.main for part in added_by(extras).values() if part.files is not None), None)


def checked_files(
    files: Sequence[ToolFile],
    served: Container[str],
    extras: Collection[str] = ALL,
    has_time: Callable[[], bool] = lambda: True,
    owners: Owners = dict[str, str],
) -> Mapping[str, Checked[Any]]:
    """Check the files beside manifests; return what becomes of them by the extra that takes them, "" if none does.

    Args:
        files: all that is registered, below the names of tools.
        served: the names of the tools that are served.
        extras: the names of the extras that are on.
        has_time: whether the run may begin another folder.
        owners: returns who registered the files, by their sources.
    """
    for name, part in added_by(extras).items():
        if part.files is not None:
            return {name: part.files.checked(files, served, has_time, owners)}
    return {"": Checked((), tuple(_refusals(files)))} if files else {}


def _refusals(files: Iterable[ToolFile]) -> Iterable[Refusal]:
    first = {one.tool: one for one in sorted(files, key=lambda one: one.path, reverse=True)}
    for tool, one in sorted(first.items()):
        yield Refusal(tool, one.source, _NOT_TAKEN, serves_previous=False, what="file")
