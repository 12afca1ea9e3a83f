"""Which IP addresses are public.

The rule: this package does not need the layer, which has a list of its own where it sends requests itself; a test holds
the two together.
"""

import ipaddress
from typing import Final

# Python calls some of these global: they lead to other networks, or to an IPv4 address inside.
_NOT_PUBLIC: Final = tuple(
    map(
        ipaddress.ip_network,
        (
            *("192.0.0.0/24", "192.88.99.0/24", "100.64.0.0/10", "168.63.129.16/32"),
            *("64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16", "fec0::/10", "::/96", "fd00:ec2::/32"),
        ),
    )
)


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
    return not any(found.version == network.version and found in network for network in _NOT_PUBLIC)
