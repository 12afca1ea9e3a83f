"""Whether a host can sign in, and how: pure functions from what a site says and the tables of hosts and issuers.

The rule: a reason names the field that is wrong and whose it is, so that a reader can act without knowing OAuth.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

from stepwire_cli.sign_in.facts import Finding, Guard, Issuer, Resource, Site, shown
from stepwire_cli.sign_in.hosts import HOSTS, Demand, Host, Sure, Takes
from stepwire_cli.sign_in.issuers import known

_S256: Final = "S256"
_BY_DOCUMENT: Final = "client ID metadata document"
_NO_S256: Final = "the issuer's metadata lack S256 in code_challenge_methods_supported"
_SECRETS: Final = frozenset({"client_secret_basic", "client_secret_post"})
_JWT_BEARER: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_ID_JAG: Final = "urn:ietf:params:oauth:grant-profile:id-jag"
_DEFAULT_AUTH: Final = ("client_secret_basic",)  # RFC 8414, section 2: what an absent list means


class Way(StrEnum):
    """How a host signs in."""

    URL = "by URL"
    ID = "needs an id"
    NO = "cannot"


@dataclass(frozen=True)
class Verdict:
    """What becomes of a host that is given the server's URL."""

    host: Host
    way: Way
    why: str
    """By what means, or because of what."""
    doubts: tuple[str, ...] = ()
    """What may still go wrong."""

    @property
    def text(self) -> str:
        """The verdict as one line."""
        said = {
            Way.URL: f"by URL: {self.why}",
            Way.ID: f"needs {self.host.takes.value}: {self.why}",
            Way.NO: f"cannot, because {self.why}",
        }
        return f"{said[self.way]}{''.join(f' (unsure: {doubt})' for doubt in self.doubts)}"


def verdicts(site: Site) -> list[Verdict]:
    """Return the verdict for each host, in the order of the table."""
    return [verdict(host, site) for host in HOSTS]


def verdict(host: Host, site: Site) -> Verdict:
    """Decide: 1. what stops all, 2. an open server, 3. hosts without OAuth, 4. what the host insists on, 5. the client.

    The client comes last because no client id helps where a host refuses the metadata.
    """
    if site.stops:
        return Verdict(host, Way.NO, site.stops[0])
    if site.guard is Guard.OPEN:
        return Verdict(host, Way.URL, "the server asks for no sign-in")
    if host.takes is Takes.TOKEN:
        return Verdict(host, Way.NO, "it signs nobody in: it only sends a bearer token that you give it")
    if site.issuer is None or site.resource is None:
        return Verdict(host, Way.NO, "the server names no issuer")
    if reason := _refusal(host, site.resource, site.issuer, site.url):
        return Verdict(host, Way.NO, reason)
    found = _client(host, site.issuer)
    return replace(found, doubts=tuple(_doubts(found, site.issuer)))


def _refusal(host: Host, resource: Resource, issuer: Issuer, url: str) -> str | None:
    if Demand.EXACT_RESOURCE in host.demands and resource.resource != url:
        return f"it insists on {url} as resource, and the server's metadata say {shown(resource.resource)}"
    if Demand.S256 in host.demands and _S256 not in (issuer.challenge_methods or ()):
        return _NO_S256
    return None


def _client(host: Host, issuer: Issuer) -> Verdict:
    """Find the host's client, in the order of the specification: its document, a registration, an id by hand."""
    if Demand.ISS in host.demands and not issuer.sends_iss:
        reason = "it refuses answers without iss, which the issuer does not announce, unless you enter the endpoints"
        return Verdict(host, Way.ID, reason)
    if host.document is not None and issuer.takes_documents and not _misses_none(host, issuer):
        return Verdict(host, Way.URL, _BY_DOCUMENT)
    if host.registers and _registers(issuer):
        return Verdict(host, Way.URL, "dynamic client registration")
    if host.takes is Takes.ID_AND_SECRET and not _SECRETS.intersection(issuer.token_auth_methods or _DEFAULT_AUTH):
        return Verdict(host, Way.NO, "it needs a client with a secret, and the issuer's metadata offer none")
    reason = _without_client(host, issuer)
    return Verdict(host, Way.NO if host.takes is Takes.NOTHING else Way.ID, reason)


def _registers(issuer: Issuer) -> bool:
    vendor = known(issuer)
    return issuer.registration_endpoint is not None and not (vendor is not None and vendor.refuses_registration)


def _misses_none(host: Host, issuer: Issuer) -> bool:
    return Demand.NONE_FOR_DOCUMENTS in host.demands and "none" not in (issuer.token_auth_methods or ())


def _without_client(host: Host, issuer: Issuer) -> str:
    """Say why there is no client without an id."""
    if not host.registers and host.document is None:
        return "it registers nothing by itself"
    if host.document is not None and issuer.takes_documents:
        return "it uses its metadata document only if token_endpoint_auth_methods_supported lists none"
    if issuer.takes_documents:
        found = "it has no metadata document, and the issuer offers no registration"
    else:
        found = "the issuer takes no metadata documents and offers no registration"
    return f"{found}, and no id can be entered" if host.takes is Takes.NOTHING else found


def _doubts(found: Verdict, issuer: Issuer) -> Iterator[str]:
    perhaps, is_by_document = found.host.perhaps, found.why == _BY_DOCUMENT
    if Demand.S256 in perhaps and _S256 not in (issuer.challenge_methods or ()):
        yield _NO_S256
    if Demand.FREE_PORT in perhaps and is_by_document:
        yield "the issuer must accept any port on the loopback"
    if is_by_document and "{app}" in (found.host.document or ""):
        yield "each of its apps has a document of its own, which the issuer must accept"
    if found.host.sure is Sure.GUESS:
        yield "this row is not verified"


def enterprise_managed(issuer: Issuer) -> str:
    """Say whether the metadata announce that ID-JAGs get tokens (SEP-990); clients look for the grant's profile."""
    has_grant = _JWT_BEARER in (issuer.grants or ())
    if _ID_JAG in (issuer.grant_profiles or ()):
        if has_grant or issuer.grants is None:
            return "offered: a company's identity provider decides who gets tokens, and nobody is asked to sign in"
        return "unclear: authorization_grant_profiles_supported lists id-jag, grant_types_supported lacks jwt-bearer"
    if has_grant:
        return "not announced: jwt-bearer is a grant, but authorization_grant_profiles_supported does not list id-jag"
    return "not announced: the metadata list neither the grant jwt-bearer nor the profile id-jag"


def assessed(site: Site) -> Site:
    """Return a site with everything that its metadata show to be wrong."""
    return replace(site, findings=(*site.findings, *_findings(site)))


def _findings(site: Site) -> Iterator[Finding]:
    if site.resource is not None:
        yield from _of_resource(site.resource, site.url)
    if site.issuer is not None:
        yield from _of_issuer(site.issuer)
        if not _is_mirror(site.issuer, site.url):
            yield from _of_keys(site.issuer, is_behind_api_gateway=site.is_behind_api_gateway)
        if (vendor := known(site.issuer)) is not None:
            yield Finding(vendor.hint)


def _of_resource(resource: Resource, url: str) -> Iterator[Finding]:
    if resource.resource != url:
        what = f"the server's metadata say resource {shown(resource.resource)}, not {url}"
        yield Finding(what, stops_all=not _is_below(url, resource.resource))
    if len(resource.issuers) > 1:
        yield Finding(
            f"the server names {len(resource.issuers)} issuers; hosts take the first, {shown(resource.issuers[0])}"
        )
    if not resource.scopes:
        yield Finding(
            "the server's metadata name no scopes_supported: hosts ask for all scopes of the issuer, or for none"
        )


def _is_below(url: str, resource: str) -> bool:
    """Tell whether the resource covers a URL, as the MCP SDKs compare: same origin, and the path begins with it."""
    one, other = urlsplit(url), urlsplit(resource)
    if (one.scheme, one.netloc.lower()) != (other.scheme, other.netloc.lower()):
        return False
    return f"{one.path.rstrip('/')}/".startswith(f"{other.path.rstrip('/')}/")


def _of_issuer(issuer: Issuer) -> Iterator[Finding]:
    if issuer.issuer != issuer.named:
        what = f"the metadata of {shown(issuer.named)} name another issuer, {shown(issuer.issuer)}"
        yield Finding(what, stops_all=not _differ_in_a_slash(issuer.issuer, issuer.named))
    if issuer.challenge_methods is None:
        yield Finding(f"{_NO_S256}: the specification tells hosts to refuse it, and some do")
    elif _S256 not in issuer.challenge_methods:
        yield Finding("the issuer's code_challenge_methods_supported does not list S256", stops_all=True)
    if issuer.grants is not None and "authorization_code" not in issuer.grants:
        yield Finding("the issuer's grant_types_supported does not list authorization_code", stops_all=True)


def _differ_in_a_slash(one: str, other: str) -> bool:
    """Tell whether two issuers are the same host without a path, once with a slash behind it."""
    return one.rstrip("/") == other.rstrip("/") and urlsplit(one).path in ("", "/")


def _is_mirror(issuer: Issuer, url: str) -> bool:
    """Tell whether the server publishes metadata for an issuer elsewhere, and no keys, as Stepwire for Cognito."""
    one, other = urlsplit(issuer.issuer), urlsplit(url)
    return (one.scheme, one.netloc) == (other.scheme, other.netloc) and issuer.key_types == ()


def _of_keys(issuer: Issuer, *, is_behind_api_gateway: bool) -> Iterator[Finding]:
    if issuer.key_types is not None and "RSA" in issuer.key_types:
        return
    has = "no keys could be read" if not issuer.key_types else f"has only {shown(', '.join(issuer.key_types))} keys"
    said = f"the issuer {has}" if issuer.key_types else f"of the issuer, {has}"
    if is_behind_api_gateway:
        yield Finding(f"{said}; API Gateway, which checks this server's tokens, knows only RSA", stops_all=True)
    else:
        yield Finding(f"{said}; an API Gateway in front of a server checks only RSA signatures")
