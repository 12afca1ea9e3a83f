"""The files beside manifests: the extra that takes them checks them, whoever asks."""

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from typing import Any, Final

from stepwire.manifests.model import ALL, added_by
from stepwire.manifests.published import Checked, Owners, Refusal, ToolFile

_NOT_TAKEN: Final = "no extra of this endpoint takes files beside a manifest: remove them"


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
