"""Which `Host` headers name this machine itself.

The rule: only loopback names are accepted, with any port, because a forwarded port differs from ours. A web page that
reaches the endpoint by DNS rebinding sends its own host name, and is refused.
"""

import re
from ipaddress import IPv4Address, IPv6Address
from typing import Final

_HOST: Final = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[0-9a-z.-]+)(?::(?P<port>\d{1,5}))?", re.ASCII)


def name_of(host: str) -> str | None:
    """Return the name in a `Host` header without its port; None if it is malformed."""
    found = _HOST.fullmatch(host.lower())
    return found["name"] if found else None


def is_loopback(host: str) -> bool:
    """Return whether a `Host` header names this machine: `localhost`, 127.0.0.0/8 or `[::1]`, with any port or none."""
    name = name_of(host)
    return name is not None and (name == "localhost" or _is_loopback_address(name))


def _is_loopback_address(name: str) -> bool:
    try:
        if name.startswith("["):
            return IPv6Address(name[1:-1]) == IPv6Address("::1")
        return IPv4Address(name).is_loopback
    except ValueError:
        return False
