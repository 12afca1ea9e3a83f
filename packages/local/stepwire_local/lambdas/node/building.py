"""Builds functions whose template says `BuildMethod: esbuild`, as `sam build` does, into a folder of its own.

The rules: nothing is installed, and nothing is written beside the code. A folder that is built already, as below
`.aws-sam/build`, is taken as it is.
"""

import atexit
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from stepwire_local.errors import FunctionLoadError

_METHOD: Final = "esbuild"
_SECONDS: Final = 120
_LONGEST: Final = 300  # characters of what esbuild says
_NAMED: Final = {
    "Format": "format",
    "MainFields": "main-fields",
    "Platform": "platform",
    "SourcesContent": "sources-content",
    "Target": "target",
    "TreeShaking": "tree-shaking",
}
"""Options of esbuild with one value, by the names that SAM gives them."""
_REPEATED: Final = {"Alias": "alias", "Banner": "banner", "Define": "define", "External": "external"} | {
    "Footer": "footer",
    "Loader": "loader",
    "OutExtension": "out-extension",
}
"""Options of esbuild that may be there several times."""
_DEFAULTS: Final = {"Format": "cjs", "Platform": "node", "Target": "es2020"}


def is_built_here(metadata: Mapping[str, Any]) -> bool:
    """Return whether a function's metadata says that esbuild builds it."""
    return metadata.get("BuildMethod") == _METHOD


def built(folder: Path, handler: str, metadata: Mapping[str, Any]) -> Path:
    """Return the folder with what esbuild makes of a function's code.

    Raises:
        FunctionLoadError: there is no esbuild, or it fails.
    """
    properties: Mapping[str, Any] = metadata.get("BuildProperties") or {}
    entries: Sequence[str] = properties.get("EntryPoints") or [f"{stem_of(handler)}.ts"]
    is_source = any((folder / entry).is_file() for entry in entries)
    if not is_source and any((folder / f"{stem_of(handler)}{suffix}").is_file() for suffix in (".js", ".mjs", ".cjs")):
        return folder
    program = _esbuild(folder)
    if program is None:
        raise FunctionLoadError(f"esbuild builds it, and is not here: npm install --prefix {folder} esbuild")
    made = Path(tempfile.mkdtemp(prefix="local-build-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    command = [program, *entries, "--bundle", f"--outdir={made}", "--log-level=error", *_options(properties)]
    try:
        done = subprocess.run(  # noqa: S603  # the developer's own esbuild
            command, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise FunctionLoadError(f"{program} fails: {error}") from error
    if done.returncode:
        raise FunctionLoadError(
            f"esbuild fails: {' '.join(done.stderr.split())[:_LONGEST]}", "Runtime.UserCodeSyntaxError"
        )
    return made


def packages_above(folder: Path) -> Sequence[Path]:
    """Return the folders of packages that code in a folder finds: its own, and those of the folders above."""
    return [one / "node_modules" for one in (folder, *folder.parents) if (one / "node_modules").is_dir()]


def stem_of(handler: str) -> str:
    """Return the path of a handler's file without its suffix."""
    folder, slash, name = handler.rpartition("/")
    return f"{folder}{slash}{name.partition('.')[0]}"


def _esbuild(folder: Path) -> str | None:
    found = (packages / ".bin" / _METHOD for packages in packages_above(folder))
    return next((str(one) for one in found if one.is_file()), shutil.which(_METHOD))


def _options(properties: Mapping[str, Any]) -> list[str]:
    given = {**_DEFAULTS, **properties}
    flags = {"--minify": given.get("Minify", True), "--sourcemap": given.get("Sourcemap", False)}
    options = [flag for flag, value in flags.items() if _text(value) == "true"]
    options += [f"--{option}={_text(given[name])}" for name, option in _NAMED.items() if name in given]
    return options + [f"--{option}:{one}" for name, option in _REPEATED.items() for one in _listed(given.get(name))]


def _listed(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [f"{key}={one}" for key, one in cast("Mapping[str, Any]", value).items()]
    if isinstance(value, list):
        return [text for one in cast("list[Any]", value) for text in _listed(one)]
    return [] if value is None else [str(value)]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else ",".join(_listed(value))
