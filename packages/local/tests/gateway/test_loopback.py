"""The `Host` headers that name this machine."""

import pytest

from stepwire_local.gateway.loopback import is_loopback


@pytest.mark.parametrize(
    "name", ["localhost", "LocalHost", "127.0.0.1", "127.0.0.2", "127.255.255.254", "[::1]", "[0:0:0:0:0:0:0:1]"]
)
@pytest.mark.parametrize("port", ["", ":80", ":3000", ":65535"])
def test_every_loopback_name_names_this_machine_whatever_the_port(name: str, port: str) -> None:
    assert is_loopback(name + port)


@pytest.mark.parametrize(
    "host",
    [
        "",
        ":3000",
        "evil.example",
        "evil.example:3000",
        "localhost.evil.example",
        "evil.localhost",
        "127.0.0.1.evil.example",
        "127.1",
        "2130706433",
        "0x7f000001",
        "127.0.0.01",
        "0.0.0.0",
        "128.0.0.1",
        "192.168.1.5:3000",
        "::1",
        "[::]",
        "[::2]:3000",
        "[::ffff:127.0.0.1]",
        "[fe80::1]",
        "localhost:",
        "localhost:3000:3000",
        "localhost:+80",
        "localhost:٣٠٠٠",
        "user@localhost",
        "localhost/",
        "localhost ",
        "localhost\n",
    ],
)
def test_no_other_name_names_this_machine(host: str) -> None:
    assert not is_loopback(host)
