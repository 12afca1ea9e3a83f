"""Find out what a server and its issuer publish, in the order in which MCP clients look for it.

The order is that of the specification of 2026-07-28 and of the released SDKs: the answer to a request without a token,
then protected resource metadata (RFC 9728), then the first issuer's metadata (RFC 8414, OpenID Connect Discovery).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final, cast
from urllib.parse import urlsplit

from stepwire_cli.exits import CommandError, Exit
from stepwire_cli.sign_in.facts import Finding, Guard, Issuer, Resource, Site, shown
from stepwire_cli.sign_in.fetching import Answer, NotRead, Reader, json_object, parts_of

_INITIALIZE: Final = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "stepwire-sign-in-check", "version": "1"},
    },
}
_HEADERS: Final = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
_NAMED: Final = re.compile(r'resource_metadata="?([^",\s]+)"?')
_API_GATEWAY: Final = "apigw-requestid"  # a header of every answer of an HTTP API


def discovered(url: str, reader: Reader) -> Site:
    """Return what a server publishes about its sign-in.

    Raises:
        CommandError: the server cannot be reached, or is no MCP server.
    """
    try:
        answer = reader.ask("POST", url, json=_INITIALIZE, headers=_HEADERS)
    except NotRead as error:
        raise CommandError(f"{error}.", Exit.UNREACHABLE) from None
    guard, is_behind = _guard(answer), _API_GATEWAY in answer.headers
    resource, findings = _resource(url, answer, reader)
    if resource is None:
        return _without_metadata(Site(url, guard, is_behind), answer, findings)
    site = Site(url, Guard.ASKS, is_behind, resource, findings=tuple(findings))
    return _with_issuer(site, resource, reader)


def _guard(answer: Answer) -> Guard:
    if answer.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return Guard.ASKS
    is_stream = answer.headers.get("content-type", "").startswith("text/event-stream")
    is_mcp = (is_stream and answer.status == HTTPStatus.OK) or _is_rpc(answer)
    return Guard.OPEN if is_mcp else Guard.ELSE


def _is_rpc(answer: Answer) -> bool:
    try:
        return json_object(answer).get("jsonrpc") == "2.0"
    except NotRead:
        return False


def _without_metadata(site: Site, answer: Answer, findings: list[Finding]) -> Site:
    """Judge a server that publishes nothing.

    Raises:
        CommandError: it is no MCP server.
    """
    if site.guard is Guard.OPEN:
        return site
    if site.guard is Guard.ELSE:
        raise CommandError(f"{shown(site.url)} is no MCP server: {_otherwise(answer)}.", Exit.UNREACHABLE)
    sigv4 = answer.status == HTTPStatus.FORBIDDEN and site.is_behind_api_gateway
    hint = "; with Authorizer=iam it takes requests signed with SigV4 only" if sigv4 else ""
    what = f"the server answers {answer.status}, and names no issuer{hint}"
    return replace(site, findings=(Finding(what, stops_all=True), *findings), takes_signatures=sigv4)


def _otherwise(answer: Answer) -> str:
    """Say how a server that is none of MCP answers."""
    if target := answer.headers.get("location"):
        return f"it redirects to {shown(target)}; give the URL itself"
    kind = answer.headers.get("content-type", "no content type").partition(";")[0]
    return f"it answers {answer.status} ({kind}) to a request of MCP"


def _resource(url: str, answer: Answer, reader: Reader) -> tuple[Resource | None, list[Finding]]:
    """Read the first protected resource metadata that there is, and say why the others are none."""
    findings = list[Finding]()
    for place in dict.fromkeys(_places_of_resource(url, answer)):
        try:
            found, from_where = reader.document(place)
            return _read_resource(found, place), _redirected(from_where, place)
        except NotRead as error:
            findings.append(Finding(str(error)))
    return None, findings


def _places_of_resource(url: str, answer: Answer) -> Iterator[str]:
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    if (named := _NAMED.search(answer.headers.get("www-authenticate", ""))) is not None:
        yield named[1]
    if parts.path.strip("/"):
        yield f"{origin}/.well-known/oauth-protected-resource{parts.path}"
    yield f"{origin}/.well-known/oauth-protected-resource"


def _read_resource(found: Mapping[str, Any], at: str) -> Resource:
    issuers, resource = _texts(found.get("authorization_servers")), found.get("resource")
    if not isinstance(resource, str):
        raise NotRead(f"{shown(at)} has no resource")
    if not issuers:
        raise NotRead(f"{shown(at)} has no authorization_servers")
    return Resource(at, resource, issuers, _texts(found.get("scopes_supported")) or ())


def _with_issuer(site: Site, resource: Resource, reader: Reader) -> Site:
    named, reasons = resource.issuers[0], list[str]()
    for place in _places_of_issuer(named):
        try:
            found, answer = reader.document(place)
            issuer, findings = _read_issuer(found, named, place), _redirected(answer, place)
        except NotRead as error:
            reasons.append(str(error))
            continue
        keys, why = _key_types(found, reader)
        said = [Finding(f"the issuer's keys cannot be read: {why}")] if why else []
        return replace(site, issuer=replace(issuer, key_types=keys), findings=(*site.findings, *findings, *said))
    what = f"the metadata of the issuer {shown(named)} cannot be read: {'; '.join(reasons)}"
    return replace(site, findings=(Finding(what, stops_all=True), *site.findings))


def _places_of_issuer(issuer: str) -> tuple[str, ...]:
    try:
        parts = parts_of(issuer)
    except NotRead:
        return (issuer,)  # no URL, which is said when it is asked
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    if not path:
        return (f"{origin}/.well-known/oauth-authorization-server", f"{origin}/.well-known/openid-configuration")
    return (
        f"{origin}/.well-known/oauth-authorization-server{path}",
        f"{origin}/.well-known/openid-configuration{path}",
        f"{origin}{path}/.well-known/openid-configuration",
    )


def _read_issuer(found: Mapping[str, Any], named: str, at: str) -> Issuer:
    for field in ("issuer", "authorization_endpoint", "token_endpoint"):
        if not isinstance(found.get(field), str):
            raise NotRead(f"{shown(at)} has no {field}")
    registration = found.get("registration_endpoint")
    return Issuer(
        named=named,
        at=at,
        issuer=found["issuer"],
        authorization_endpoint=found["authorization_endpoint"],
        token_endpoint=found["token_endpoint"],
        registration_endpoint=registration if isinstance(registration, str) else None,
        challenge_methods=_texts(found.get("code_challenge_methods_supported")),
        token_auth_methods=_texts(found.get("token_endpoint_auth_methods_supported")),
        grants=_texts(found.get("grant_types_supported")),
        grant_profiles=_texts(found.get("authorization_grant_profiles_supported")),
        takes_documents=found.get("client_id_metadata_document_supported") is True,
        sends_iss=found.get("authorization_response_iss_parameter_supported") is True,
        scopes=_texts(found.get("scopes_supported")) or (),
    )


def _key_types(found: Mapping[str, Any], reader: Reader) -> tuple[tuple[str, ...] | None, str]:
    """Return the types of the keys that sign, or why they are not known."""
    place = found.get("jwks_uri")
    if not isinstance(place, str):
        return (), ""
    try:
        document, _ = reader.document(place)
    except NotRead as error:
        return None, str(error)
    keys = cast("list[object]", keys) if isinstance(keys := document.get("keys"), list) else []
    types = [str(key.get("kty")) for key in map(_as_object, keys) if key.get("use") != "enc" and "kty" in key]
    return tuple(sorted(set(types))), "" if types else f"{shown(place)} lists none"


def _redirected(answer: Answer, place: str) -> list[Finding]:
    if not answer.was_redirected:
        return []
    return [Finding(f"{shown(place)} redirects to {shown(answer.url)}: hosts on the Python SDK do not follow it")]


def _texts(value: object) -> tuple[str, ...] | None:
    """Return a list of texts; None where there is no list."""
    if not isinstance(value, list):
        return None
    return tuple(one for one in cast("list[object]", value) if isinstance(one, str))


def _as_object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
