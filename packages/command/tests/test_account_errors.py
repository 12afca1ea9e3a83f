"""Every command that reads an AWS account: what is wrong there is one line that says what to do, and an exit code."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from packages.command.tests.aws import CREDENTIALS, Aws, Refusal, aws_at
from stepwire.errors import CallerBlocked
from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire_cli.__main__ import in_front
from stepwire_cli.app import run
from stepwire_cli.exits import Exit
from tests.clients.endpoint import serving
from tests.extras import parts

TASK = "01kyyk41g000000000000000000000000001"
COMMANDS: dict[str, list[str]] = {
    "doctor": ["doctor", "--endpoint", "live"],
    "wrap": ["wrap", "--stack", "orders"],
    "replay": ["replay", "live"],
    "task": ["task", TASK, "--stack", "live"],
    "redrive": ["redrive", TASK, "--stack", "live"],
    "sign-in": ["sign-in", "set-up", "live"],
    "status": ["status", "live"],
    "destroy": ["destroy", "live", "--yes"],
    "tools": ["tools", "--auth", "sigv4", "--url", "http://127.0.0.1:9/mcp"],
    **{name: words for part in parts("account_commands") for name, words in part.COMMANDS.items()},
}
OF_AN_ACCOUNT = [name for name in COMMANDS if name != "tools"]
"""The others ask AWS themselves; `tools` only signs."""
SSO = """
[profile work]
sso_session = work
sso_account_id = 123456789012
sso_role_name = reader
[sso-session work]
sso_region = eu-central-1
sso_start_url = https://sso.example/start
"""

Ran = tuple[int, str]
Stepwire = Callable[..., Ran]


@pytest.fixture
def stepwire(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Stepwire:
    """Run a command with an environment; what is None is not set."""
    monkeypatch.chdir(tmp_path)
    for name in ("AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", "STEPWIRE_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))

    def ran(words: list[str], environment: Mapping[str, str | None]) -> Ran:
        for name, value in {**CREDENTIALS, **environment}.items():
            monkeypatch.delenv(name, raising=False)
            if value is not None:
                monkeypatch.setenv(name, value)
        code = run(in_front(words))
        out, said = capsys.readouterr()
        assert out == ""
        assert "Traceback" not in said
        assert len(said.splitlines()) == 1, said
        assert said.startswith("error: ")
        return code, said

    return ran


@pytest.fixture
def aws() -> Aws:
    return Aws()


@pytest.fixture
def url(aws: Aws) -> Iterator[str]:
    with aws_at(aws) as url:
        yield url


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("environment", "code", "words"),
    [
        ({"AWS_REGION": None}, Exit.USAGE, "no Region: add --region, or set AWS_REGION"),
        ({"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None}, Exit.SIGN_IN, "no credentials for AWS: sign in ("),
        ({"AWS_SECRET_ACCESS_KEY": None}, Exit.SIGN_IN, "a part of the credentials for AWS is missing: sign in ("),
        ({"AWS_PROFILE": "nobody"}, Exit.SIGN_IN, "The config profile (nobody) could not be found: `aws configure"),
    ],
    ids=["no Region", "no credentials", "half of the credentials", "an unknown profile"],
)
def test_what_is_missing_on_this_machine(
    stepwire: Stepwire, command: str, environment: dict[str, str | None], code: Exit, words: str
) -> None:
    ended, said = stepwire(COMMANDS[command], environment)

    assert (ended, said.startswith(f"error: {words}")) == (code, True), said


@pytest.mark.parametrize("command", COMMANDS)
def test_a_session_that_is_over_says_to_sign_in(stepwire: Stepwire, command: str, tmp_path: Path) -> None:
    (tmp_path / "config").write_text(SSO)
    environment = {"AWS_PROFILE": "work", "AWS_CONFIG_FILE": str(tmp_path / "config"), "AWS_ACCESS_KEY_ID": None,
                   "AWS_SECRET_ACCESS_KEY": None}  # fmt: skip

    code, said = stepwire(COMMANDS[command], environment)

    assert code == Exit.SIGN_IN
    assert "the session with AWS is over: sign in (`aws sso login`" in said


@pytest.mark.parametrize("command", COMMANDS)
def test_files_of_the_aws_cli_that_cannot_be_read(stepwire: Stepwire, command: str, tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[profile\n")

    _, said = stepwire(COMMANDS[command], {"AWS_CONFIG_FILE": str(tmp_path / "config")})

    assert f"Unable to parse config file: {tmp_path / 'config'}" in said


@pytest.mark.parametrize("command", OF_AN_ACCOUNT)
@pytest.mark.parametrize(
    ("endpoint", "code", "words"),
    [
        ("http://127.0.0.1:9", Exit.UNREACHABLE, "check the network, HTTPS_PROXY and --region"),
        ("nonsense", Exit.FAILED, "the configuration of AWS cannot be used"),
    ],
    ids=["no network", "no URL"],
)
def test_an_aws_that_cannot_be_reached(stepwire: Stepwire, command: str, endpoint: str, code: Exit, words: str) -> None:
    ended, said = stepwire(COMMANDS[command], {"AWS_ENDPOINT_URL": endpoint})

    assert (ended, words in said) == (code, True), said


@pytest.mark.parametrize("command", OF_AN_ACCOUNT)
@pytest.mark.parametrize(
    ("refusal", "code", "words"),
    [
        (Refusal("ExpiredToken", "The security token is expired", 403), Exit.SIGN_IN, "or have expired (ExpiredToken)"),
        (Refusal("InvalidClientTokenId", status=403), Exit.SIGN_IN, "are not valid, or have expired"),
        (Refusal("AccessDenied", status=403), Exit.SIGN_IN, "these credentials may not "),
        (Refusal("SomethingNew"), Exit.FAILED, "was refused: SomethingNew: AWS says no."),
    ],
    ids=lambda one: one.code if isinstance(one, Refusal) else "",
)
def test_a_refusal_of_aws(
    stepwire: Stepwire, aws: Aws, url: str, command: str, refusal: Refusal, code: Exit, words: str
) -> None:
    aws.every = refusal

    ended, said = stepwire(COMMANDS[command], {"AWS_ENDPOINT_URL": url})

    assert (ended, words in said) == (code, True), said


@pytest.mark.parametrize("command", [name for name in OF_AN_ACCOUNT if name not in ("status", "destroy")])
def test_a_wrong_stack_says_how_to_list_them(stepwire: Stepwire, aws: Aws, url: str, command: str) -> None:
    aws.every = Refusal("ValidationError", "Stack 'live' does not exist")

    code, said = stepwire(COMMANDS[command], {"AWS_ENDPOINT_URL": url})

    of = "orders" if command == "wrap" else "live of Stepwire"
    assert code == Exit.UNKNOWN
    assert f"there is no stack {of} in this account and Region: check the name, --region and --profile" in said


def test_a_wrong_endpoint_registers_nothing(stepwire: Stepwire, aws: Aws, url: str, tmp_path: Path) -> None:
    aws.every = Refusal("ValidationError", "Stack 'gone' does not exist")

    code, said = stepwire(["wrap", "Orders", "--apply", "--endpoint", "gone"], {"AWS_ENDPOINT_URL": url})

    assert (code, "there is no stack gone of Stepwire" in said) == (Exit.UNKNOWN, True)
    assert [name for name, _ in aws.calls] == ["DescribeStackResource"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", OF_AN_ACCOUNT)
def test_something_else_than_aws_answers(stepwire: Stepwire, aws: Aws, url: str, command: str) -> None:
    aws.page = "<html>Welcome to the hotel"

    code, said = stepwire(COMMANDS[command], {"AWS_ENDPOINT_URL": url})

    assert (code, "is not AWS: is there a proxy, or a wrong AWS_ENDPOINT_URL?" in said) == (Exit.UNREACHABLE, True), (
        said
    )


def test_a_signature_that_the_endpoint_refuses(stepwire: Stepwire) -> None:
    def handle(_request: HttpRequest) -> HttpResponse:
        expired = '{"message": "The security token included in the request is expired"}'
        return HttpResponse(403, expired, {"content-type": "application/json"})

    with serving(handle) as there:
        code, said = stepwire(["tools", "--auth", "sigv4", "--url", there], {})

    assert code == Exit.SIGN_IN
    assert "These credentials lack a right" in said


def test_a_server_that_says_itself_why_it_refuses_is_not_explained(stepwire: Stepwire) -> None:
    blocked = CallerBlocked()
    body = {"jsonrpc": "2.0", "id": 1, "error": {"code": blocked.code, "message": str(blocked)}}

    def handle(_request: HttpRequest) -> HttpResponse:
        return HttpResponse(blocked.status, json.dumps(body), {"content-type": "application/json"})

    with serving(handle) as there:
        code, said = stepwire(["tools", "--url", there, "--token", "theirs"], {})

    assert (code, said) == (Exit.SIGN_IN, f"error: {blocked}\n")
