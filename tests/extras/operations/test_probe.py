"""The probe: what keeps requests from every function rings its alarm."""

import json
import socket
import ssl
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import ThreadingHTTPServer
from pathlib import Path
from runpy import run_path
from threading import Thread
from typing import Any, Final
from urllib.parse import parse_qsl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from stepwire.extras.operations.probe import Probe, ProbeFailed, ProbeHandler, post, token_of
from stepwire_local.http_server import LoopbackServer, QuietHandler
from tests.clients.endpoint import TOOLS, served
from tests.docs.pages import page
from tests.template.alarms import rings
from tests.template.chosen import stack
from tests.template.document import ROOT, resource

TOKEN: Final = "the-access-token"
PASSWORD: Final = "the-client-secret"
TOOL: Final = "canary"
GOOD: Final[Any] = {"jsonrpc": "2.0", "id": 1, "result": {"content": [], "isError": False}}
Answer = tuple[int, Any, dict[str, str]]


@dataclass
class Site:
    """An issuer at /token and an endpoint at /mcp, on one port."""

    token: Answer = (200, {"access_token": TOKEN}, {})
    mcp: list[Answer] = field(default_factory=lambda: [(200, GOOD, {})])
    """What the endpoint answers, one after another; the last one always."""
    heard: list[tuple[str, dict[str, str], str]] = field(default_factory=list[tuple[str, dict[str, str], str]])

    secrets: Answer = (404, {}, {})
    """What Secrets Manager answers, at the root of the same port."""

    def answer(self, path: str) -> Answer:
        if path in {"/token", "/"}:
            return self.token if path == "/token" else self.secrets
        return self.mcp.pop(0) if len(self.mcp) > 1 else self.mcp[0]


@contextmanager
def serving(site: Site) -> Generator[str]:
    class Handler(QuietHandler):
        def do_POST(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            site.heard.append((self.path, headers, self.body().decode()))
            status, body, more = site.answer(self.path)
            self.reply(status, body if isinstance(body, bytes) else json.dumps(body).encode(), more)

    with LoopbackServer(Handler) as server:
        yield server.origin


def unsigned(_url: str, _body: bytes, headers: Mapping[str, str]) -> Mapping[str, str]:
    return headers


def secret_for(origin: str, **more: str) -> bytes:
    members = {"token_url": f"{origin}/token", "client_id": "the probe", "client_secret": PASSWORD, **more}
    return json.dumps(members).encode()


def probed(site: Site, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Run the function as its schedule does, with no sign-in; return its pauses.

    Raises:
        ProbeFailed: as the function does.
    """
    pauses: list[float] = []
    with serving(site) as origin:
        for name, value in {"RESOURCE": f"{origin}/mcp", "PROBE_TOOL": TOOL, "PROBE_ARGUMENTS": '{"a": 1}'}.items():
            monkeypatch.setenv(name, value)
        ProbeHandler(pauses.append)({}, None)
    return pauses


def reason_of(site: Site, monkeypatch: pytest.MonkeyPatch) -> str:
    with pytest.raises(ProbeFailed) as failed:
        probed(site, monkeypatch)
    return str(failed.value)


# ------------------------------------------------------------------------------------------------------------ the call


def test_the_probe_is_a_client_that_the_endpoint_serves() -> None:
    with served(TOOLS) as there:
        Probe(there.url, "instant", {"text": "x"}, unsigned).call()
        with pytest.raises(ProbeFailed, match="the endpoint: HTTP 400"):
            Probe(there.url, "no_such_tool", {}, unsigned).call()


def test_a_token_is_requested_from_the_issuer_and_sent_to_the_endpoint() -> None:
    site = Site()

    with serving(site) as origin:
        token = token_of(secret_for(origin, scope="call"), "https://mcp.example.com/mcp")

    ((path, headers, body),) = site.heard
    assert (token, path) == (TOKEN, "/token")
    assert dict(parse_qsl(body)) == {
        "grant_type": "client_credentials",
        "resource": "https://mcp.example.com/mcp",
        "scope": "call",
    }
    assert headers["authorization"] == "Basic dGhlK3Byb2JlOnRoZS1jbGllbnQtc2VjcmV0"  # RFC 6749: form-encoded first
    assert PASSWORD not in body


def test_the_secret_that_the_page_shows_is_one() -> None:
    (shown,) = page(ROOT / "docs/extras/operations.md").blocks("json")

    with serving(site := Site()) as origin:
        token_of(json.dumps({**json.loads(shown), "token_url": f"{origin}/token"}).encode(), "https://a.example/mcp")

    assert dict(parse_qsl(site.heard[0][2]))["scope"] == "workflows:call"


def test_an_issuer_may_want_the_client_in_the_body_and_another_resource() -> None:
    site, more = Site(), {"token_endpoint_auth_method": "client_secret_post", "resource": "", "audience": "an API"}

    with serving(site) as origin:
        token_of(secret_for(origin, **more), "https://mcp.example.com/mcp")

    ((_, headers, body),) = site.heard
    assert "authorization" not in headers
    assert dict(parse_qsl(body)) == {
        "grant_type": "client_credentials",
        "audience": "an API",
        "client_id": "the probe",
        "client_secret": PASSWORD,
    }


def test_a_failure_that_passes_rings_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = probed(Site(mcp=[(503, {}, {}), (429, {}, {}), (200, GOOD, {})]), monkeypatch)

    assert pauses == [10, 10]


REFUSALS: Final[list[tuple[Answer, str]]] = [
        ((401, {"message": "Unauthorized"}, {"www-authenticate": 'Bearer error="invalid_token"'}),
         'the endpoint: HTTP 401: Bearer error="invalid_token"'),
        ((403, {"message": "Forbidden"}, {}), "the endpoint: HTTP 403"),
        ((302, {}, {"location": "https://elsewhere.example/"}), "the endpoint: HTTP 302"),
        ((200, b"<html>", {}), "the endpoint: the answer is not JSON"),
        ((200, [], {}), "the endpoint: the answer is no JSON object"),
        ((200, {"error": {"code": -32603, "message": PASSWORD}}, {}), "the endpoint: JSON-RPC error -32603"),
        ((200, {"result": {"content": [{"text": PASSWORD}], "isError": True}}, {}), "the endpoint: the tool failed"),
        ((200, {"result": {}}, {}), "the endpoint: no result of a tool came"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "reason"), REFUSALS)
def test_what_is_no_result_of_the_tool_is_said_without_what_the_answer_holds(
    monkeypatch: pytest.MonkeyPatch, answer: Answer, reason: str
) -> None:
    assert reason_of(Site(mcp=[answer]), monkeypatch) == reason


@pytest.mark.parametrize(
    ("status", "reason"), [(400, "the sign-in: HTTP 400"), (200, "the sign-in: the answer has no access_token")]
)
def test_an_issuer_that_gives_no_token_is_named(status: int, reason: str) -> None:
    with serving(Site(token=(status, {"error": "invalid_client"}, {}))) as origin, pytest.raises(ProbeFailed) as failed:
        token_of(secret_for(origin), "https://mcp.example.com/mcp")

    assert str(failed.value) == reason


def test_a_token_that_no_header_can_have_is_not_shown() -> None:
    site = Site(token=(200, {"access_token": f"{TOKEN}\n"}, {}))

    with serving(site) as origin, pytest.raises(ProbeFailed) as failed:
        token_of(secret_for(origin), "https://mcp.example.com/mcp")

    assert str(failed.value) == "the sign-in: the answer has an access_token that no header can have"


def test_a_secret_that_cannot_be_read_is_said_after_several_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    account = Site(secrets=(400, {"__type": "AccessDeniedException"}, {}))
    with serving(account) as origin:
        here = {"AWS_ENDPOINT_URL": origin, "AWS_DEFAULT_REGION": "eu-central-1", "PROBE_SECRET_ARN": "arn"}
        for name, value in {**here, "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key"}.items():
            monkeypatch.setenv(name, value)

        reason = reason_of(Site(), monkeypatch)

    assert reason == "the secret: it cannot be read: AccessDeniedException"
    assert len(account.heard) == 3


@pytest.mark.parametrize("secret", [b"no JSON", b'{"client_id": 7}', b"[]"])
def test_a_secret_that_is_none_says_what_it_must_be(secret: bytes) -> None:
    with pytest.raises(ProbeFailed, match="the secret: it must be a JSON object with texts, and lacks token_url, "):
        token_of(secret, "https://mcp.example.com/mcp")


def test_an_answer_that_is_not_http_is_said_without_what_it_holds() -> None:
    with sending(f"{PASSWORD}\r\n\r\n".encode()) as url, pytest.raises(ProbeFailed) as failed:
        post("the endpoint", url, b"", {})

    assert str(failed.value) == "the endpoint: it does not answer: BadStatusLine"


@contextmanager
def sending(answer: bytes) -> Generator[str]:
    """Serve one connection, with these bytes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(answer)

        Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/mcp"


def test_no_token_and_no_secret_goes_over_a_plain_connection() -> None:
    with pytest.raises(ProbeFailed, match="its URL does not begin with https://"):
        post("the sign-in", "http://issuer.example/token", b"", {})


def test_an_endpoint_that_does_not_answer_is_said() -> None:
    with serving(Site()) as origin:
        pass

    with pytest.raises(ProbeFailed, match="the endpoint: it does not answer: ConnectionRefusedError"):
        post("the endpoint", origin, b"", {})


def certificate(folder: Path, ends: timedelta) -> Path:
    """Write a certificate of its own making for 127.0.0.1, with its key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=9))
        .not_valid_after(now + ends)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = folder / "certificate.pem"
    path.write_bytes(key.private_bytes(*form) + made.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.mark.parametrize(
    ("ends", "is_trusted", "reason"),
    [(timedelta(days=-1), True, "certificate has expired"), (timedelta(days=1), False, "self-signed certificate")],
)
def test_a_certificate_that_is_not_valid_is_said(
    tmp_path: Path, ends: timedelta, is_trusted: bool, reason: str
) -> None:
    path = certificate(tmp_path, ends)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(path)
    trusting = ssl.create_default_context(cafile=str(path) if is_trusted else None)

    with over_tls(server) as port, pytest.raises(ProbeFailed, match=f"its certificate is not valid: {reason}"):
        post("the endpoint", f"https://localhost:{port}/mcp", b"", {}, trusting)


@contextmanager
def over_tls(context: ssl.SSLContext) -> Generator[int]:
    """Serve on this machine over TLS. A client that does not trust the certificate ends the handshake."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), QuietHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


# ----------------------------------------------------------------------------------------------------------- the alarm


def errors_after(runs: list[Callable[[], object]]) -> list[float]:
    """Return what Lambda counts for these runs of the function, one in each hour."""
    counted: list[float] = []
    for run in runs:
        try:
            run()
            counted.append(0)
        except ProbeFailed:
            counted.append(1)
    return counted


def test_a_closed_door_rings_the_alarm_and_an_open_one_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    alarm = resource("ProbeAlarm").properties
    door, closed = Site(), Site(mcp=[(401, {}, {})])

    values = errors_after([lambda: probed(closed, monkeypatch), lambda: probed(door, monkeypatch)])

    assert (alarm["Namespace"], alarm["MetricName"]) == ("AWS/Lambda", "Errors")
    assert [rings(alarm, values[:1]), rings(alarm, values)] == [True, False]
    assert rings(alarm, []), "nobody has looked"


# -------------------------------------------------------------------------------------------------------- the template


def test_there_is_no_probe_by_default_and_its_code_is_in_the_layer() -> None:
    with_probe = stack("jwt", ProbeTool=TOOL, ProbeSecretArn=f"arn:aws:secretsmanager:a:{'1' * 12}:secret:s")

    parts = ("ProbeFunction", "ProbeLogs", "ProbeSchedule", "ProbePermission", "ProbeAlarm")
    assert [stack("jwt").has(name) for name in parts] == [False] * len(parts)
    assert [with_probe.has(name) for name in parts] == [True] * len(parts)
    function = with_probe.properties("ProbeFunction")
    assert run_path(str(ROOT / function["CodeUri"] / "app.py"))["handler"].__class__ is ProbeHandler


def test_a_probe_of_an_endpoint_with_tokens_needs_a_client() -> None:
    with pytest.raises(AssertionError, match="needs ProbeSecretArn"):
        stack("jwt", ProbeTool=TOOL)


@pytest.mark.parametrize(
    ("authorizer", "given", "allowed"),
    [
        ("jwt", {"ProbeSecretArn": f"arn:aws:secretsmanager:a:{'1' * 12}:secret:s"}, ["SignInAsTheProbe"]),
        ("iam", {}, ["CallTheEndpoint"]),
        ("none", {}, []),
    ],
)
def test_the_probe_may_sign_in_and_nothing_else(authorizer: str, given: dict[str, str], allowed: list[str]) -> None:
    function = stack(authorizer, ProbeTool=TOOL, **given).properties("ProbeFunction")

    assert [[one["Sid"] for one in policy["Statement"]] for policy in function["Policies"]] == [
        [sid] for sid in allowed
    ]
