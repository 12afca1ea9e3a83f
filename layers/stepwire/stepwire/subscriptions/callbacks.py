"""What a caller may give as a webhook's endpoint: its URL, its secret, and which addresses may be reached. Pure."""

import base64
import binascii
import ipaddress
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from stepwire.errors import InvalidParams
from stepwire.json_text import Json

LONGEST_URL: Final = 2_048  # characters
SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - how each secret begins
_SECRET_BYTES: Final = range(24, 65)
_HTTPS_PORT: Final = 443
_LOCAL_HOSTS: Final = ("127.0.0.1", "localhost")
# Python calls some of these global: they lead to other networks, or to an IPv4 address inside.
_NOT_PUBLIC: Final = (
    *("192.0.0.0/24", "192.88.99.0/24", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16", "fec0::/10"),
    *("::/96", "100.64.0.0/10", "168.63.129.16/32", "fd00:ec2::/32"),
)
_NETWORKS: Final = tuple(map(ipaddress.ip_network, _NOT_PUBLIC))


class Endpoint(Struct, frozen=True):
    """A checked URL, in the parts that a connection needs."""

    host: str
    port: int
    target: str
    """Path and query, as sent."""
    is_tls: bool


def endpoint_of(url: Json, *, allows_local: bool) -> Endpoint:
    """Return the endpoint of a webhook's URL.

    Args:
        url: what the caller gave.
        allows_local: whether plain HTTP to this machine is allowed too; only the local stack may.

    Raises:
        InvalidParams: it is none that Stepwire delivers to.
    """
    if not isinstance(url, str) or not 0 < len(url) <= LONGEST_URL:
        raise InvalidParams(f"params.delivery.url must be a URL of at most {LONGEST_URL} characters.")
    if not url.isascii() or any(character <= " " or character in "\x7f\\" for character in url):
        raise InvalidParams("params.delivery.url must consist of printable ASCII, without spaces.")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise InvalidParams("params.delivery.url is not a URL.") from None
    if parts.username is not None or parts.password is not None or parts.fragment or not host:
        raise InvalidParams("params.delivery.url must have a host, no user or password, and no fragment.")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if allows_local and parts.scheme == "http" and host in _LOCAL_HOSTS:
        return Endpoint(host, port or 80, target, is_tls=False)
    if parts.scheme != "https" or port not in (None, _HTTPS_PORT):
        raise InvalidParams("params.delivery.url must begin with https:// and use port 443.")
    return Endpoint(host, _HTTPS_PORT, target, is_tls=True)


def check_secret(secret: Json) -> str:
    """Return the secret that signs a webhook's deliveries.

    Raises:
        InvalidParams: it is not whsec_ and base64 of 24 to 64 bytes.
    """
    if isinstance(secret, str) and secret.startswith(SECRET_PREFIX):
        try:
            octets = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
        except (binascii.Error, ValueError):
            octets = b""
        if len(octets) in _SECRET_BYTES:
            return secret
    raise InvalidParams("params.delivery.secret must be whsec_ followed by base64 of 24 to 64 random bytes.")


def is_public(address: str) -> bool:
    """Tell whether an IP address is reached through the public internet, and leads nowhere else."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    if "%" in address or not found.is_global or found.is_multicast or found.is_reserved:
        return False
    return not any(found.version == network.version and found in network for network in _NETWORKS)
