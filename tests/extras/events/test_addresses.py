"""The layer, which sends requests to webhooks, and the command call the same addresses public."""

from ipaddress import ip_address, ip_network

import pytest

from stepwire.extras.events import subscription
from stepwire_cli.sign_in.addresses import is_public


@pytest.mark.parametrize(
    "network",
    [
        *(
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "168.63.129.16/32",
            "169.254.0.0/16",
            "172.16.0.0/12",
        ),
        *(
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "224.0.0.0/4",
            "240.0.0.0/4",
        ),
        *("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2001:db8::/32"),
        *("2002::/16", "3fff::/20", "fc00::/7", "fd00:ec2::/32", "fe80::/10", "fec0::/10", "ff00::/8"),
    ],
)
def test_the_command_and_the_layer_have_one_list_of_public_addresses(network: str) -> None:
    found = ip_network(network)
    edges = (int(found[0]) - 1, int(found[0]), int(found[-1]), int(found[-1]) + 1)
    addresses = [
        str(ip_address(edge.to_bytes(found.max_prefixlen // 8, "big")))
        for edge in edges
        if 0 <= edge < 2**found.max_prefixlen
    ]

    for address in addresses:
        assert is_public(address) is subscription.is_public(address), address
