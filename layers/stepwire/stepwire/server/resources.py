"""The methods of resources, in both eras, for the resources of extras. Loaded with the first such request."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from stepwire.codec import MILLISECOND
from stepwire.errors import NoDirectory, ResourceNotFound, UnknownResource
from stepwire.hooks import Resources
from stepwire.json_text import JsonObject
from stepwire.protocol.tokens import page_of
from stepwire.server.call import Call, text_in
from stepwire.server.services import Services
from stepwire.server.ways import CACHED_FOR, Method


def list_resources(services: Services, call: Call) -> JsonObject:
    """Return a page of this client's resources, by their URIs."""
    shown = (resource for one in _served(services) for resource in one.listed(services, call))
    return {**page_of("resources", shown, call.params), **_caching(call)}


def list_templates(_services: Services, call: Call) -> JsonObject:
    """Return an empty list: no resource has variables in its URI."""
    return {**page_of("resourceTemplates", (), call.params), **_caching(call)}


def read_resource(services: Services, call: Call) -> JsonObject:
    """Return the content of a resource.

    Raises:
        UnknownResource: there is no such resource for this client.
        ResourceNotFound: the same in the older era.
    """
    uri = text_in(call.params, "uri")
    one = _served_at(services, uri)
    content = one.read(services, call, uri) if one else None
    if one is None or content is None:
        raise UnknownResource(uri) if call.is_modern else ResourceNotFound(uri)
    return {"contents": [{"uri": uri, **content}], **_caching(call, one)}


def read_directory(services: Services, call: Call) -> JsonObject:
    """Return a page of the entries directly below a URI.

    Raises:
        NoDirectory: there is nothing below it.
    """
    uri = text_in(call.params, "uri")
    one = _served_at(services, uri)
    found = list(one.children(services, call, uri)) if one and one.children else []
    if not found:
        raise NoDirectory(uri)
    return page_of("resources", found, call.params)


def _served(services: Services) -> Iterator[Resources]:
    return (one.resources for one in services.parts if one.resources is not None)


def _served_at(services: Services, uri: str) -> Resources | None:
    return next((one for one in _served(services) if uri.startswith(one.scheme)), None)


def _caching(call: Call, of: Resources | None = None) -> JsonObject:
    """Return how long a client of the newer era may keep a result (M31); in the older one, nothing says so.

    A list depends on what the client shows, and on the caller's tools.
    """
    if not call.is_modern:
        return {}
    is_public = of is not None and of.is_public
    return {"ttlMs": CACHED_FOR // MILLISECOND, "cacheScope": "public" if is_public else "private"}


METHODS: Final[Mapping[str, Method]] = MappingProxyType(
    {
        "resources/list": list_resources,
        "resources/read": read_resource,
        "resources/templates/list": list_templates,
        "resources/directory/read": read_directory,
    }
)
