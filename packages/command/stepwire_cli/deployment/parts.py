"""The template of a stack, put together: `template.yaml` is the core's, and each extra has a part of its own.

    python -m stepwire_cli.deployment.parts --with approvals,events --output stack.yaml

A part lies in `extras/NAME/template.yaml` beside the core's template; where an extra adds to another, in
`extras/NAME/with_OTHER.yaml` or `with_OTHER_and_THIRD.yaml`, and what several share in `extras/NAME_or_OTHER/`. Its
sections are those of a template: what is new is added, and what the core has is changed as override files of Docker
Compose change a service:

- mappings merge, lists continue, any other value replaces the core's;
- `!override VALUE` replaces a mapping or a list, too;
- of functions, `!And` and `!Or` continue; so do the values of `!Join`, and the variables of `!Sub`, whose first
  argument is `null` in a part. Any other function replaces the core's value.

A part's `Description` is one line that says what the extra does; it is no part of the stack.
"""

import argparse
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeGuard

import yaml

from stepwire.json_text import Json, JsonObject
from stepwire.manifests.yaml_text import read_template

CORE: Final = "template.yaml"
FOLDER: Final = "extras"
_PART: Final = "template.yaml"
_WITH: Final = "with_"
_OR: Final = "_or_"
_AND: Final = "_and_"
_OVERRIDE: Final = "Fn::override"
_CONTINUED: Final = frozenset({"Fn::And", "Fn::Or"})
_BY_ARGUMENT: Final = frozenset({"Fn::Join", "Fn::Sub"})
_FUNCTIONS: Final = ("Fn::", "Ref")
NOTHING: Final = "none"
"""What stands for no extra, on a command line and in words."""
EVERY: Final = "all"
"""What stands for all extras there."""


def extras_named(words: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the names of extras that a command line has: separated by commas, or `none`, or `all` that are known."""
    if words == EVERY:
        return tuple(known)
    return () if words == NOTHING else tuple(name.strip() for name in words.split(",") if name.strip())


def extras_of(folder: Path) -> tuple[str, ...]:
    """Return the names of the extras that a folder with a core's template has, in alphabetical order."""
    return extras_in(_paths_in(folder))


def extras_in(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the extras of which these are the parts, by their paths in `extras/`."""
    found = (path.removesuffix(f"/{_PART}") for path in paths if path.endswith(f"/{_PART}"))
    return tuple(sorted(name for name in found if _OR not in name))


def paths_of(paths: Collection[str], chosen: Iterable[str]) -> list[str]:
    """Return which of these parts the chosen extras have, in the order in which they are put together.

    Raises:
        ValueError: an extra is not of this release.
    """
    names, known = set(chosen), extras_in(paths)
    if unknown := sorted(names - set(known)):
        raise ValueError(f"{', '.join(unknown)}: no such extra; this release has {', '.join(known) or 'none'}")
    folders = sorted({path.partition("/")[0] for path in paths}, key=lambda folder: (_OR not in folder, folder))
    held = [folder for folder in folders if names & set(folder.split(_OR))]
    own = [f"{folder}/{_PART}" for folder in held]
    meeting = (
        (path, _others(path)) for folder in held for path in sorted(paths) if path.startswith(f"{folder}/{_WITH}")
    )
    # Why sorted: where three meet, what two of them do changes.
    return own + [path for path, others in sorted(meeting, key=lambda one: len(one[1])) if others <= names]


def _others(path: str) -> set[str]:
    """Return the extras that must be chosen, too, for a part that says so in its name."""
    return set(path.partition(f"/{_WITH}")[2].removesuffix(".yaml").split(_AND))


def files_of(folder: Path, chosen: Iterable[str]) -> list[Path]:
    """Return the files of the parts of the chosen extras, in the order in which they are put together.

    Raises:
        ValueError: an extra is not of this release.
    """
    return [folder / FOLDER / path for path in paths_of(_paths_in(folder), chosen)]


def put_together(core: Mapping[str, Json], parts: Iterable[Mapping[str, Json]]) -> JsonObject:
    """Return the core's template with these parts, in their order; none of the arguments changes."""
    whole: Json = dict(core)
    for part in parts:
        whole = _merged(whole, {name: value for name, value in part.items() if name != "Description"})
    return whole


def stack_of(folder: Path, chosen: Iterable[str]) -> JsonObject:
    """Return the template of a stack with the chosen extras; what the core includes is in it.

    Raises:
        ValueError: an extra is not of this release, or a file is no template.
        OSError: a file cannot be read.
    """
    return put_together(read_core(folder), map(read_part, files_of(folder, chosen)))


def written(template: Mapping[str, Json]) -> str:
    """Return a template as YAML, with the long form of functions; a text that YAML 1.1 misreads keeps its quotes."""
    return yaml.dump(template, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000)


def read_core(folder: Path) -> JsonObject:
    """Return the core's template, with what it includes.

    Raises:
        ValueError: a file is no template.
        OSError: a file cannot be read.
    """
    core = read_part(folder / CORE)
    resources = core["Resources"]
    if (included := resources.pop("Fn::Transform", None)) is not None:
        resources |= read_part(folder / included["Parameters"]["Location"])
    return core


def read_part(file: Path) -> JsonObject:
    """Return the template in a file.

    Raises:
        ValueError: it is none.
        OSError: it cannot be read.
    """
    return part_of(file.read_text(encoding="utf-8"), str(file))


def part_of(text: str, name: str) -> JsonObject:
    """Return the template that a text is; the name is for the message.

    Raises:
        ValueError: it is none.
    """
    found = read_template(text)
    if not _is_mapping(found):
        raise ValueError(f"{name} is no template: it has no sections")
    return found


def write_stack(folder: Path, output: Path, chosen: Iterable[str] | None = None) -> None:
    """Write the template of a stack with the chosen extras, or with all, unless the file has it already.

    Raises:
        ValueError: an extra is not of this release, or a file is no template.
        OSError: a file cannot be read or written.
    """
    text = written(stack_of(folder, extras_of(folder) if chosen is None else chosen))
    if not output.is_file() or output.read_text(encoding="utf-8") != text:
        output.write_text(text, encoding="utf-8")


def _paths_in(folder: Path) -> list[str]:
    return [path.relative_to(folder / FOLDER).as_posix() for path in (folder / FOLDER).glob("*/*.yaml")]


def _merged(old: Json, new: Json) -> Json:
    if _is_mapping(new) and _OVERRIDE in new:
        return new[_OVERRIDE]
    if _is_list(old) and _is_list(new):
        return [*old, *new]
    return _merged_mappings(old, new) if _is_mapping(old) and _is_mapping(new) else new


def _merged_mappings(old: JsonObject, new: JsonObject) -> JsonObject:
    if not _is_function(old) and not _is_function(new):
        return {**old, **{name: _merged(old.get(name), one) for name, one in new.items()}}
    (function,) = new if len(new) == 1 else ("",)
    if function in _CONTINUED and function in old:
        return {function: [*old[function], *new[function]]}
    if function in _BY_ARGUMENT and function in old:
        return {function: _with_more(old[function], new[function])}
    return new


def _is_function(value: Mapping[str, Json]) -> bool:
    return len(value) == 1 and next(iter(value)).startswith(_FUNCTIONS)


def _with_more(old: Json, new: Json) -> Json:
    """Add to the second argument of a function, where the first of the new ones is left open; replace it otherwise."""
    is_added = _is_list(old) and _is_list(new) and new[0] is None
    return [old[0], _merged(old[1], new[1])] if is_added else new


def _is_list(value: Json) -> TypeGuard[list[Json]]:
    return isinstance(value, list)


def _is_mapping(value: Json) -> TypeGuard[JsonObject]:
    return isinstance(value, dict)


class _Dumper(yaml.SafeDumper):
    """Writes each value out: a template has no aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        """Say that nothing is an alias."""
        return True


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the template of a stack with the chosen extras; exit 1 with what is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path(), help="with the core's template (default: this one)")
    parser.add_argument(
        "--with", dest="chosen", default=EVERY, help="names of extras, separated by commas, or none (default: all)"
    )
    parser.add_argument("--output", type=Path, default=Path("stack.yaml"), help="the file to write (stack.yaml)")
    options = parser.parse_args(arguments)
    try:
        write_stack(options.folder, options.output, extras_named(options.chosen, extras_of(options.folder)))
    except (OSError, ValueError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
