"""Skills (SEP-2640): instructions that a client's model may load, one of Stepwire's own and those of the tools' owners.

Their files are resources, which clients of every version read. The methods are those of 2026-07-28, for which alone the
extension is specified. Most clients ask for none, so all but this is loaded with the first request that does.
"""

from collections.abc import Callable, Iterable
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from stepwire.hooks import Extra, Ground, ManifestFields, Protocol, Resources
from stepwire.json_text import JsonObject
from stepwire.protocol.messages import MODERN_VERSIONS
from stepwire.server.call import Call, Reply
from stepwire.server.services import Services

if TYPE_CHECKING:
    from stepwire.extras.skills.skill import Skill

SKILLS_EXTENSION: Final = "io.modelcontextprotocol/skills"


def _capabilities(_services: Services, call: Call) -> JsonObject:
    """Tell clients of both eras of the resources (Q3), and the newer ones of the extension (Q1, Q2)."""
    return {"resources": {}, **({"extensions": {SKILLS_EXTENSION: {"directoryRead": True}}} if call.is_modern else {})}


def _answered(method: str, services: Services, call: Call) -> Reply:
    from stepwire.extras.skills.serving import METHODS

    return METHODS[method](services, call)


def _listed(services: Services, call: Call) -> Iterable[JsonObject]:
    from stepwire.extras.skills.serving import listed

    return listed(services, call)


def _read(services: Services, call: Call, uri: str) -> JsonObject | None:
    from stepwire.extras.skills.serving import read

    return read(services, call, uri)


def _children(services: Services, call: Call, uri: str) -> Iterable[JsonObject]:
    from stepwire.extras.skills.serving import children

    return children(services, call, uri)


def skills_of(ground: Ground) -> "Callable[[], tuple[Skill, ...]]":
    """Build what returns the skills of all tools: those of the release, and those that owners have registered."""
    from stepwire.aws.settings import catalog_file
    from stepwire.aws.storage.published_catalog import DynamoDbCatalog
    from stepwire.catalog.tools import compiled_in
    from stepwire.extras.skills.skill import LiveSkills, skills_in

    text, engine = catalog_file(ground.environment).read_text(encoding="utf-8"), ground.engine
    built_in, names = skills_in(text), {one.tool.name for one in compiled_in(text)}
    if ground.environment.get("REGISTERED_TOOLS") == "off":
        return lambda: built_in
    read = partial(DynamoDbCatalog(ground.table).read_files, "skills")
    return LiveSkills(built_in, names, read, engine.recorder.clock.now, engine.ports.report)


def _fields() -> ManifestFields[Any]:
    from stepwire.extras.skills.manifest import FIELDS

    return FIELDS


_METHODS: Final = MappingProxyType({name: partial(_answered, name) for name in ("skills/list", "skills/get")})
EXTRA: Final = Extra(
    name="skills",
    protocol=Protocol(dict.fromkeys(MODERN_VERSIONS, _METHODS), _capabilities),
    resources=Resources("skill://", _listed, _read, children=_children),
    fields=_fields,
)
