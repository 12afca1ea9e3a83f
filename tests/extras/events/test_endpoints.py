"""What a request to a webhook's endpoint may reach, and how much of an answer it takes."""

import socket
import ssl
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from stepwire.errors import InvalidParams
from stepwire.extras.events.endpoints import LARGEST_ANSWER, HttpsEndpoints
from stepwire.extras.events.ports import NotPublic, NotReached
from stepwire.extras.events.subscription import is_public
from tests.waiting import HANG_GUARD

NAME: Final = "hooks.example"
URL: Final = f"https://{NAME}/hook?id=1"
Talk = Callable[[socket.socket], object]
Connect = Callable[[tuple[str, int], float], socket.socket]
OK: Final = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
NOON: Final = "date: Fri, 27 Nov 2026 12:00:00 GMT\r\nretry-after: "

NOT_PUBLIC: Final = (
    *("127.0.0.1", "127.255.255.254", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"),
    *("169.254.169.254", "169.254.170.2", "100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192"),
    *("192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
    *("192.88.99.1", "::", "::1", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1"),
    *("::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::a9fe:a9fe"),
    *("64:ff9b:1::1", "2001::1", "2001:db8::1", "2002:a9fe:a9fe::1", "2002:7f00:1::1", "100::1", "localhost", ""),
)  # fmt: skip
PUBLIC: Final = ("93.184.216.34", "8.8.8.8", "2606:2800:220:1:248:1893:25c8:1946", "::ffff:93.184.216.34")


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_an_address_that_is_not_public_is_known(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_known(address: str) -> None:
    assert is_public(address)


@dataclass
class Receiver:
    """A server that talks to each connection as a test says."""

    port: int
    heard: list[bytes] = field(default_factory=list[bytes])
    connections: int = 0


@contextmanager
def receiving(talk: Talk, context: ssl.SSLContext | None = None) -> Generator[Receiver]:
    """Serve on 127.0.0.1: read a request, then talk."""
    listener = socket.create_server(("127.0.0.1", 0))
    receiver = Receiver(listener.getsockname()[1])

    def serve() -> None:
        with suppress(OSError):
            while True:
                plain, _ = listener.accept()
                receiver.connections += 1
                with suppress(OSError), plain:
                    connection = plain if context is None else context.wrap_socket(plain, server_side=True)
                    receiver.heard.append(connection.recv(65_536))
                    talk(connection)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def always(addresses: list[str]) -> Callable[[str, int], list[str]]:
    return lambda _host, _port: addresses


def saying(*parts: bytes) -> Talk:
    return lambda connection: [connection.sendall(part) for part in parts]


def post(receiver: Receiver, deadline: float = HANG_GUARD) -> Any:
    url = f"http://127.0.0.1:{receiver.port}/hook?id=1"
    return HttpsEndpoints(allows_local=True, deadline=deadline).post(url, {"webhook-id": "evt"}, b'{"a":1}')


def test_a_post_is_one_request_with_the_body_as_it_is() -> None:
    with receiving(saying(b'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"a": 1}!')) as receiver:
        answer = post(receiver)

    head, _, body = receiver.heard[0].partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /hook?id=1 HTTP/1.1"
    assert {f"host: 127.0.0.1:{receiver.port}", "webhook-id: evt", "content-length: 7"} <= set(lines)
    assert body == b'{"a":1}'
    assert (answer.status, answer.body) == (200, b'{"a": 1}!')


def test_an_answer_in_chunks_is_read() -> None:
    with receiving(saying(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")) as receiver:
        assert post(receiver).body == b"{}"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ("retry-after: 90", 90),
        (f"{NOON}Fri, 27 Nov 2026 12:01:30 GMT", 90),
        (f"{NOON}Friday, 27-Nov-26 12:01:30 GMT", 90),
        (f"{NOON}Fri Nov 27 12:01:30 2026", 90),
        (f"{NOON}Fri, 27 Nov 2026 11:00:00 GMT", 0),
        ("retry-after: Fri, 27 Nov 2026 12:01:30 GMT", 0),
        (f"retry-after: {'9' * 40}", 0),
        ("retry-after: soon", 0),
        ("retry-after: -1", 0),
        ("x: y", 0),
    ],
)
def test_how_long_a_receiver_asks_to_be_left_alone(headers: str, seconds: int) -> None:
    with receiving(saying(f"HTTP/1.1 429 Later\r\n{headers}\r\ncontent-length: 0\r\n\r\n".encode())) as receiver:
        assert post(receiver).again_after == timedelta(seconds=seconds)


def test_of_a_huge_answer_only_the_beginning_is_read() -> None:
    sent: list[int] = []

    def pour(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 104857600\r\n\r\n")
        with suppress(OSError):
            while sum(sent) < 100 * 1024 * 1024:
                sent.append(connection.send(b"x" * 65_536))

    with receiving(pour) as receiver:
        answer = post(receiver)

    assert len(answer.body) <= LARGEST_ANSWER
    assert sum(sent) < 20 * 1024 * 1024


def test_of_endless_headers_only_a_part_is_read() -> None:
    def pour(connection: socket.socket) -> None:
        with suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            while True:
                connection.sendall(b"x: " + b"y" * 1_000 + b"\r\n")

    with receiving(pour) as receiver, pytest.raises(NotReached):
        post(receiver)


def test_a_receiver_that_sends_a_byte_at_a_time_has_a_deadline() -> None:
    stop = threading.Event()

    def drip(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
        with suppress(OSError):
            while not stop.wait(0.02):
                connection.sendall(b"x")

    with receiving(drip) as receiver, pytest.raises(NotReached, match="timeout"):
        post(receiver, deadline=0.3)
    stop.set()


def test_a_receiver_that_says_nothing_has_a_deadline() -> None:
    stop = threading.Event()
    with receiving(lambda _: stop.wait()) as receiver, pytest.raises(NotReached, match="timeout"):
        post(receiver, deadline=0.2)
    stop.set()


def test_a_redirect_is_not_followed() -> None:
    with receiving(saying(OK)) as inner:
        moved = f"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:{inner.port}/\r\ncontent-length: 0\r\n\r\n"
        with receiving(saying(moved.encode())) as receiver:
            answer = post(receiver)

    assert answer.status == 302
    assert inner.connections == 0


@pytest.mark.parametrize("said", [b"", b"hello\r\n\r\n", b"HTTP/9 200\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"\x00" * 90])
def test_an_answer_that_is_no_http_is_no_answer(said: bytes) -> None:
    with receiving(saying(said)) as receiver, pytest.raises(NotReached):
        post(receiver)


def test_nobody_there_is_a_refused_connection() -> None:
    with receiving(saying(OK)) as receiver:
        pass
    with pytest.raises(NotReached, match="connection_refused"):
        post(receiver)


# -------------------------------------------------------------------------------------------------- names and addresses


@pytest.mark.parametrize(
    "addresses", [["127.0.0.1"], ["169.254.169.254"], ["::1"], ["93.184.216.34", "10.0.0.1"], ["::ffff:7f00:1"]]
)
def test_a_name_with_an_address_that_is_not_public_is_not_connected_to(addresses: list[str]) -> None:
    with receiving(saying(OK)) as receiver, pytest.raises(NotPublic):
        HttpsEndpoints(resolve=always(addresses)).post(URL, {}, b"{}")
    assert receiver.connections == 0


def test_a_name_server_that_says_nothing_has_the_same_deadline() -> None:
    answers = threading.Event()

    def resolve(*_: object) -> list[str]:
        answers.wait()
        return ["93.184.215.14"]

    with pytest.raises(NotReached) as raised:
        HttpsEndpoints(resolve=resolve, deadline=0.05).post(URL, {}, b"{}")
    answers.set()

    assert raised.value.category == "timeout"


def test_a_name_that_does_not_resolve_is_not_reached() -> None:
    def resolve(*_: object) -> list[str]:
        raise socket.gaierror

    with pytest.raises(NotReached, match="connection_refused"):
        HttpsEndpoints(resolve=resolve).post(URL, {}, b"{}")


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "http://localhost:8000/", "https://hooks.example:8443/"])
def test_a_stored_url_is_checked_again(url: str) -> None:
    with pytest.raises(InvalidParams):
        HttpsEndpoints().post(url, {}, b"{}")


def test_only_this_machine_is_reached_without_tls() -> None:
    with pytest.raises(InvalidParams):
        HttpsEndpoints(allows_local=True).post("http://192.168.1.1/", {}, b"{}")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of its own making, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "certificate.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


@contextmanager
def over_tls(certificate: Path) -> Generator[tuple[Receiver, Connect]]:
    """Serve over TLS; what connects to port 443 of this machine arrives there."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    with receiving(saying(OK), context) as receiver:

        def connect(address: tuple[str, int], timeout: float) -> socket.socket:
            assert address == ("127.0.0.1", 443), "the address that was checked"
            return socket.create_connection(("127.0.0.1", receiver.port), timeout)

        yield receiver, connect


def test_the_name_is_resolved_once_and_the_checked_address_is_connected_to(certificate: Path) -> None:
    resolved: list[str] = []

    def resolve(host: str, _: int) -> list[str]:
        resolved.append(host)
        return ["127.0.0.1"] if len(resolved) == 1 else ["169.254.169.254"]

    context = ssl.create_default_context(cafile=str(certificate))
    with over_tls(certificate) as (receiver, connect):
        endpoints = HttpsEndpoints(
            resolve=resolve, context=lambda: context, is_public=lambda one: one == "127.0.0.1", connect=connect
        )
        answer = endpoints.post(URL, {}, b"{}")

    assert (answer.status, resolved) == (200, [NAME])
    assert f"host: {NAME}".encode() in receiver.heard[0]


@pytest.mark.parametrize("host", [NAME, "other.example"])
def test_a_certificate_that_is_not_right_ends_the_connection(certificate: Path, host: str) -> None:
    cafile = None if host == NAME else str(certificate)
    context = ssl.create_default_context(cafile=cafile)
    with over_tls(certificate) as (receiver, connect), pytest.raises(NotReached, match="tls_error"):
        HttpsEndpoints(
            resolve=always(["127.0.0.1"]), context=lambda: context, is_public=lambda _: True, connect=connect
        ).post(f"https://{host}/", {}, b"{}")

    assert receiver.heard == []
