"""The functions of a template, and where their code is on this disk."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from stepwire.json_text import Json, JsonObject, as_object
from stepwire_wrap.files.intrinsics import Resolver
from stepwire_wrap.files.texts import Unreadable, text_of
from stepwire_wrap.files.walking import walked

_KINDS: Final = ("AWS::Serverless::Function", "AWS::Lambda::Function")
_POINTERS: Final = ("AWS::Lambda::Alias", "AWS::Lambda::Version")
_REFERENCE: Final = re.compile(r"\$\{(?P<id>[\w-]+)(?:\.[\w.]+)?\}")
_ARN: Final = re.compile(r".*:function:")
_QUALIFIER: Final = re.compile(r":[\w$-]+$")
_FILLERS: Final = re.compile(r"arn|name|lambda|function|handler|fn|[\W_]", re.IGNORECASE)
SUFFIXES: Final = (".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".tsx", ".jsx")
_COMMAND: Final = re.compile(r"^\s*CMD\s+(\[.*\])", re.MULTILINE)
_TESTS: Final = frozenset({"tests", "test", "__tests__"})
_INLINE_FILES: Final = {"python": "index.py", "nodejs": "index.js"}


@dataclass(frozen=True)
class Entry:
    """The code that Lambda calls."""

    file: Path
    function: str
    """Name of the function in the file."""
    root: Path
    """Folder of all code of the function, in which its imports are."""
    text: str | None = None
    """The code, if it stands in the template, which `file` is then."""
    suffix: str = ""
    """What the file would be called: `.py`."""


@dataclass(frozen=True)
class Functions:
    """The functions of a template, by their logical ids."""

    entries: Mapping[str, Entry | None] = field(default_factory=dict[str, Entry | None])
    """None: its code is not here."""
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    """Logical ids by the name of the function."""
    pointers: Mapping[str, str] = field(default_factory=dict[str, str])
    """What aliases and versions point to, by their logical ids."""

    def named(self, text: str) -> Entry | None:
        """Return the code of the function that a definition names by an ARN, a name or a reference."""
        found = self._id(text, depth=0)
        return None if found is None else self.entries[found]

    def _id(self, text: str, depth: int) -> str | None:
        bare = _ARN.sub("", text.strip())
        for name in (bare, _QUALIFIER.sub("", bare)):
            if name in self.names:
                return self.names[name]
            reference = _REFERENCE.fullmatch(name)
            if reference is not None:
                return self._referenced(reference["id"], depth)
        return None

    def _referenced(self, name: str, depth: int) -> str | None:
        if name in self.entries:
            return name
        if name in self.pointers and depth < len(self.pointers):
            return self._id(self.pointers[name], depth + 1)
        owners = [one for one in self.entries if re.fullmatch(f"{one}(Alias|Version)\\w*", name)]
        return max(owners, key=len) if owners else self._alike(name)

    def _alike(self, name: str) -> str | None:
        """Return the one function that is called as a substitution is which nobody has filled in."""
        alike = [one for one in self.entries if core(one) == core(name)]
        return alike[0] if len(alike) == 1 and core(name) else None


def core(name: str) -> str:
    """Return a name without what says only that it is a function's, so that `ShipFunctionArn` is like `ship`."""
    return _FILLERS.sub("", name).lower()


def functions_of(template: JsonObject, path: Path, resolver: Resolver) -> Functions:
    """Return the functions of a template."""
    shared = as_object(as_object(template.get("Globals")).get("Function"))
    entries: dict[str, Entry | None] = {}
    names: dict[str, str] = {}
    pointers: dict[str, str] = {}
    for name, one in as_object(template.get("Resources")).items():
        resource = as_object(one)
        own = as_object(resource.get("Properties"))
        if resource.get("Type") in _POINTERS:
            pointers[name] = resolver.text(own.get("FunctionName"))
        elif resource.get("Type") in _KINDS:
            properties = as_object(resolver.value({**shared, **own}))
            entries[name] = _entry(properties, as_object(resource.get("Metadata")), path)
            if isinstance(called := properties.get("FunctionName"), str):
                names[called] = name
    return Functions(entries, names, pointers)


def _entry(properties: JsonObject, metadata: JsonObject, path: Path) -> Entry | None:
    handler, root = properties.get("Handler"), _root(properties, metadata, path)
    code = properties.get("InlineCode", as_object(properties.get("Code")).get("ZipFile"))
    if isinstance(code, str):
        kind = str(properties.get("Runtime", "")).rstrip("0123456789.x")
        suffix = Path(_INLINE_FILES.get(kind, "index.")).suffix
        function = str(handler or "index.handler").rpartition(".")[2]
        return Entry(path, function, path.parent, code, suffix) if suffix else None
    if root is None:
        return None
    if properties.get("PackageType") == "Image" or "ImageUri" in properties:
        handler = _command(properties, metadata, root)
    if not isinstance(handler, str) or "." not in handler:
        return None
    entries = [str(one) for one in _entry_points(metadata)]
    return entry_at(root, handler, entries)


def _root(properties: JsonObject, metadata: JsonObject, path: Path) -> Path | None:
    for place in (
        metadata.get("aws:asset:path"),
        metadata.get("DockerContext"),
        properties.get("CodeUri"),
        properties.get("Code"),
    ):
        if isinstance(place, str) and not place.startswith("s3://"):
            return (path.parent / place).resolve()
    return path.parent.resolve() if "CodeUri" not in properties and "Code" not in properties else None


def _command(properties: JsonObject, metadata: JsonObject, root: Path) -> Json:
    """Return the handler of an image: what its template or its Dockerfile runs."""
    match as_object(properties.get("ImageConfig")).get("Command"):
        case [str(handler)]:
            return handler
        case _:
            pass
    try:
        found = _COMMAND.findall(text_of(root / str(metadata.get("Dockerfile", "Dockerfile"))))
        command: Json = json.loads(found[-1]) if found else None
    except (Unreadable, ValueError):
        return None
    return cast(list[Json], command)[-1] if isinstance(command, list) and command else None


def _entry_points(metadata: JsonObject) -> list[Json]:
    found = as_object(metadata.get("BuildProperties")).get("EntryPoints")
    return cast(list[Json], found) if isinstance(found, list) else []


def entry_at(root: Path, handler: str, entry_points: Sequence[str] = ()) -> Entry | None:
    """Return the code that a handler names, as Lambda finds it, or its source before a build.

    `entry_points`: files that a build begins with.
    """
    module, _, function = handler.rpartition(".")
    places = [module, module.replace(".", "/")]
    for place in dict.fromkeys(places):
        for suffix in SUFFIXES:
            file = root / f"{place}{suffix}"
            if file.is_file():
                return Entry(file, function, root, suffix=suffix)
    built = [root / one for one in entry_points if Path(one).suffix in SUFFIXES]
    stem = Path(places[-1]).name
    sources = [one for one in built if one.is_file()] or list(_sources(root, stem))
    if not sources:
        return None
    file = min(sources, key=lambda one: (one.stem != stem, len(one.parts), str(one)))
    return Entry(file, function, file.parent, suffix=file.suffix)


def _sources(root: Path, stem: str) -> Iterator[Path]:
    """Yield the files of that name in a folder; a build's folder that is not there yet is beside its source."""
    folder = root
    if root.name in ("dist", "build", "lib", "out", ".build") and not any(_files(root, stem)):
        folder = root.parent
    yield from _files(folder, stem)


def _files(folder: Path, stem: str) -> Iterator[Path]:
    found = walked(folder, but=_TESTS) if folder.is_dir() else iter(())
    yield from (one for one in found if one.stem == stem and one.suffix in SUFFIXES)
