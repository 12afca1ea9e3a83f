"""Check what MCP Apps (`io.modelcontextprotocol/ui`, 2026-01-26) adds: no published type of the older era knows it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from stepwire.json_text import as_object
from tests.wire_oracle.comparisons import CLIENT_CAPABILITIES, MODERN, Exchange, Json, check_core, check_members
from tests.wire_oracle.skills import check_content, check_resource

UI_EXTENSION: Final = "io.modelcontextprotocol/ui"
APP_TYPE: Final = "text/html;profile=mcp-app"
APP_ONLY: Final = frozenset({"card_answer", "card_cancel", "card_task"})
_CSP: Final = {"connectDomains", "resourceDomains", "frameDomains", "baseUriDomains"}
_EMPTY_CSP: Final = dict[str, list[str]]((name, list[str]()) for name in _CSP)


def declares_apps(capabilities: Any) -> bool:
    """Tell whether a client declares the extension with the media type of HTML."""
    return APP_TYPE in _at(capabilities, "extensions", UI_EXTENSION).get("mimeTypes", ())


def _at(value: Any, *path: str) -> Json:
    for name in path:
        value = as_object(value).get(name)
    return as_object(value)


def without_apps(exchange: Exchange) -> Exchange:
    """Return an exchange whose result does not advertise the extension, for checks against types that know none."""
    capabilities = dict(exchange.result.get("capabilities", {}))
    extensions = dict(capabilities.pop("extensions", {}))
    assert extensions.pop(UI_EXTENSION, {}) == {}
    assert capabilities.get("resources", {}) == {}, "no subscriptions, and no notices of changes"
    kept = {**capabilities, **({"extensions": extensions} if extensions else {})}
    return replace(exchange, result={**exchange.result, "capabilities": kept})


def check_tool_meta(exchange: Exchange, tool: Json) -> None:
    """Check the `_meta` of a tool: older hosts read the flat name; tools of a card alone are marked so."""
    meta = tool.get("_meta")
    if exchange.version == MODERN and not declares_apps(_at(exchange.params, "_meta", CLIENT_CAPABILITIES)):
        assert meta is None, "a host without cards is shown nothing of them"
    if meta is None:
        assert tool["name"] not in APP_ONLY
        return
    if tool["name"] in APP_ONLY:
        assert meta == {"ui": {"visibility": ["app"]}}
        return
    uri = meta["ui/resourceUri"]
    assert meta == {"ui": {"resourceUri": uri, "visibility": ["model", "app"]}, "ui/resourceUri": uri}


def _check_ui(meta: Any) -> None:
    assert meta == {"ui": {"csp": _EMPTY_CSP, "prefersBorder": True}}


def _check_list(exchange: Exchange) -> None:
    check_core(exchange)
    for one in exchange.result["resources"]:
        if not one["uri"].startswith("ui://"):
            check_resource(one)
            continue
        assert one["mimeType"] == APP_TYPE
        _check_ui(one["_meta"])


def _check_read(exchange: Exchange) -> None:
    check_core(exchange)
    (content,) = exchange.result["contents"]
    assert content["uri"] == exchange.params["uri"]
    if content["uri"].startswith("skill://"):
        check_content(content)
        return
    check_members(content, {"uri", "mimeType", "text", "_meta"}, "contents[0]")
    assert content["mimeType"] == APP_TYPE
    _check_ui(content["_meta"])


RESOURCE_RESULTS: Final[Mapping[str, Callable[[Exchange], None]]] = MappingProxyType(
    {
        "resources/list": _check_list,
        "resources/read": _check_read,
        "resources/templates/list": check_core,
    }
)
