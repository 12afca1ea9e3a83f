"""`stepwire sign-in` connects to the address that it checked, whatever a name means a moment later."""

import ssl
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from stepwire_cli.sign_in.fetching import NoAnswer, NotRead, Reader
from stepwire_cli.sign_in.pinning import Pinned, pinned_client
from stepwire_local.http_server import LoopbackServer, QuietHandler

NAME = "server.example"
PUBLIC, PRIVATE = "93.184.215.14", "10.0.0.1"


class Resolver:
    """A name server that changes its answer."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)

    def __call__(self, host: str) -> list[str]:
        return self.answers.pop(0)


class Network:
    """Addresses of which some refuse; keeps to which each connection went, with which name."""

    def __init__(self, *silent: str) -> None:
        self.silent = silent
        self.asked: list[tuple[str, str, str]] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append((request.url.host, request.headers["host"], request.extensions["sni_hostname"]))
        if request.url.host in self.silent:
            raise httpx2.ConnectError("refused", request=request)
        return httpx2.Response(200, json={})

    def reader(self, resolve: Callable[[str], list[str]]) -> Reader:
        return Reader(httpx2.Client(transport=Pinned(httpx2.MockTransport(self))), None, lambda: 0.0, resolve)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_a_name_that_becomes_private_after_the_check_is_asked_where_it_was() -> None:
    network = Network()
    reader = network.reader(Resolver([PUBLIC], [PRIVATE]))

    reader.document(f"https://{NAME}/one")
    reader.document(f"https://{NAME}/two")

    assert network.asked == [(PUBLIC, NAME, NAME)] * 2


def test_a_name_with_a_private_address_among_others_is_not_asked() -> None:
    network = Network()

    with pytest.raises(NotRead, match="at a private address"):
        network.reader(Resolver([PUBLIC, PRIVATE])).document(f"https://{NAME}/")

    assert network.asked == []


def test_the_next_address_is_tried_if_one_refuses() -> None:
    network = Network(PUBLIC)

    network.reader(Resolver([PUBLIC, "2606:2800:21f::1"])).document(f"https://{NAME}:8443/")

    name = f"{NAME}:8443"
    assert network.asked == [(PUBLIC, name, NAME), ("2606:2800:21f::1", name, NAME)]


@pytest.mark.parametrize(("addresses", "why"), [([], "its name has no address"), ([PUBLIC], "refused")])
def test_a_name_that_cannot_be_reached_is_told(addresses: list[str], why: str) -> None:
    with pytest.raises(NoAnswer, match=why):
        Network(PUBLIC).reader(Resolver(addresses)).document(f"https://{NAME}/")


# ------------------------------------------------------------------------------------------------- with a real server


def context_of(folder: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return TLS for a server with a certificate for a name, and for a client that trusts it."""
    key, now = generate_private_key(SECP256R1()), datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, SHA256())
    ).public_bytes(Encoding.PEM)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "certificate.pem").write_bytes(certificate + private)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "certificate.pem")
    return server, ssl.create_default_context(cadata=certificate.decode())


class Says(QuietHandler):
    """Answers with the name that it was asked by."""

    def do_GET(self) -> None:
        self.reply(200, f'{{"host": "{self.headers["host"]}"}}'.encode())


class TlsServer(LoopbackServer):
    """A server with TLS."""

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(Says)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)


@pytest.fixture
def port_and_client(tmp_path: Path) -> Iterator[tuple[int, httpx2.Client]]:
    ours, theirs = context_of(tmp_path, NAME)
    with TlsServer(ours) as server, pinned_client(theirs) as client:
        yield server.port, client


def test_tls_and_the_request_have_the_name_and_the_connection_has_the_address(
    port_and_client: tuple[int, httpx2.Client],
) -> None:
    port, client = port_and_client
    url = f"https://{NAME}:{port}/"
    reader = Reader(client, url, lambda: 0.0, Resolver(["127.0.0.1"], [PRIVATE]))

    assert [reader.document(url)[0] for _ in range(2)] == [{"host": f"{NAME}:{port}"}] * 2


def test_a_certificate_of_another_name_is_refused(port_and_client: tuple[int, httpx2.Client]) -> None:
    port, client = port_and_client
    url = f"https://other.example:{port}/"

    with pytest.raises(NoAnswer, match=r"(?i)hostname mismatch"):
        Reader(client, url, lambda: 0.0, Resolver(["127.0.0.1"])).document(url)
