"""What of a server's and an issuer's metadata is wrong, or should be known: pure functions from what they say.

The rule: a finding names the field that is wrong and whose it is, so that a reader can act without knowing OAuth. What
a host of some vendor makes of it is not said here; docs/hosts_sign_in.md says it, with its date.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from stepwire_cli.sign_in.facts import Finding, Issuer, Resource, Site, shown

_S256: Final = "S256"
_JWT_BEARER: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_ID_JAG: Final = "urn:ietf:params:oauth:grant-profile:id-jag"


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
        lack = "the issuer's metadata lack S256 in code_challenge_methods_supported"
        yield Finding(f"{lack}: the specification tells hosts to refuse it, and some do")
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
