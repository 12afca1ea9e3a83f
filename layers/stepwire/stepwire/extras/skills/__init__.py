"""Skills (SEP-2640): instructions that a client's model may load, one of Stepwire's own and those of the tools' owners.

Their files are resources, which clients of every version read. The methods are those of 2026-07-28, for which alone the
extension is specified. Most clients ask for none, so all but this is loaded with the first request that does.
"""

from collections.abc import Iterable
from functools import partial
from types import MappingProxyType
from typing import Final

from stepwire.json_text import JsonObject
from stepwire.protocol.messages import MODERN_VERSIONS, SKILLS_EXTENSION
from stepwire.server.call import Call, Reply
from stepwire.server.extension import Extension, Resources
from stepwire.server.services import Services


def _capabilities(_services: Services, call: Call) -> JsonObject:
    """Tell clients of both eras of the resources (Q3), and the newer ones of the extension (Q1, Q2)."""
    return {"resources": {}, **({"extensions": {SKILLS_EXTENSION: {"directoryRead": True}}} if call.is_modern else {})}


def _answered(method: str, services: Services, call: Call) -> Reply:
    from stepwire.server.extensions.skills.serving import METHODS

    return METHODS[method](services, call)


def _listed(services: Services, call: Call) -> Iterable[JsonObject]:
    from stepwire.server.extensions.skills.serving import listed

    return listed(services, call)


def _read(services: Services, call: Call, uri: str) -> JsonObject | None:
    from stepwire.server.extensions.skills.serving import read

    return read(services, call, uri)


def _children(services: Services, call: Call, uri: str) -> Iterable[JsonObject]:
    from stepwire.server.extensions.skills.serving import children

    return children(services, call, uri)


_METHODS: Final = MappingProxyType({name: partial(_answered, name) for name in ("skills/list", "skills/get")})
SKILLS: Final = Extension(
    dict.fromkeys(MODERN_VERSIONS, _METHODS),
    capabilities=_capabilities,
    resources=Resources("skill://", _listed, _read, children=_children),
)
