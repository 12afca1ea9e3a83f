"""Errors that a process tells of: where it cannot load its function's code, which function, and what to do. Pure."""

import json
import re
from typing import Final

from stepwire_local.lambdas.invocations import Failed, FunctionSettings, entries_of, failed
from stepwire_local.lambdas.node.building import stem_of
from stepwire_local.lambdas.node.machine import version_of

_MISSING: Final = re.compile(r"Cannot find (?:module|package) '(?P<name>[^']+)'")
_SDK_V3: Final = 18  # the first version of Node.js whose runtime has it, in place of the SDK v2
_OF_THE_RUNTIME: Final = ("@aws-sdk/", "@smithy/")
_OF_OLDER_RUNTIMES: Final = ("aws-sdk",)
_LAYERS: Final = "/opt/"


def not_loaded(error: str, settings: FunctionSettings) -> Failed:
    """Return the outcome of an invocation whose function cannot be loaded, from the error that the process tells of."""
    entries = entries_of(error)
    if entries is None:
        return failed("Runtime.Unknown", f"function {settings.name}: {error}")
    message = str(entries.get("errorMessage", ""))
    advice = _advice(message, settings)
    more = f"; {advice}" if advice else ""
    return Failed(json.dumps({**entries, "errorMessage": f"{message} (function {settings.name}{more})"}))


def _advice(message: str, settings: FunctionSettings) -> str:
    """Return what to do about a module that is not there."""
    found = _MISSING.search(message)
    if found is None:
        return ""
    name, stem = found["name"], stem_of(settings.handler)
    if name == stem:
        source = settings.folder / f"{stem}.ts"
        how = f"build {source}, or let esbuild do it (Metadata: BuildMethod: esbuild)" if source.is_file() else ""
        return "; ".join(filter(None, (f"{settings.folder} has no {stem}.js, .mjs or .cjs", how)))
    if name.startswith(_LAYERS):
        return f"layers are not at {_LAYERS} on this machine: import their packages by name"
    if name.startswith((".", "/")):
        return ""
    package = "/".join(name.split("/")[: 2 if name.startswith("@") else 1])
    own = _OF_OLDER_RUNTIMES if 0 < version_of(settings.runtime) < _SDK_V3 else _OF_THE_RUNTIME
    why = "Lambda's own runtime has it, this machine does not: " if package.startswith(own) else ""
    return f"{why}npm install --prefix {settings.folder} {package}"
