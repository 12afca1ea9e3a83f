"""What keeps `make replay` from asking AWS is one line that says what to do, and an exit code."""

import pytest
from botocore import exceptions
from botocore.exceptions import BotoCoreError, ClientError

from stepwire_cli.replay.faults import cure_of
from stepwire_cli.replay.replaying import Options, replay


def refused(code: str, operation: str = "DescribeStackResource") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "Words\nof AWS."}}, operation)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (exceptions.NoRegionError(), "No AWS Region is set. Set the stack's, as in `AWS_DEFAULT_REGION="),
        (exceptions.InvalidRegionError(region_name="x y"), "The AWS Region is not one. Set the stack's"),
        (exceptions.NoCredentialsError(), "There are no AWS credentials. Sign in (`aws sso login`"),
        (exceptions.PartialCredentialsError(provider="env", cred_var="x"), "A part of the AWS credentials is missing."),
        (exceptions.UnauthorizedSSOTokenError(), "The AWS session is over. Sign in"),
        (exceptions.ProfileNotFound(profile="x"), "AWS_PROFILE names no profile."),
        (exceptions.EndpointConnectionError(endpoint_url="u"), "AWS cannot be reached. Check the network"),
        (exceptions.ConnectTimeoutError(endpoint_url="u"), "AWS cannot be reached. Check the network"),
        (exceptions.ReadTimeoutError(endpoint_url="u"), "AWS cannot be reached. Check the network"),
        (exceptions.SSLError(endpoint_url="u", error=OSError("e")), "AWS cannot be reached. Check the network"),
        (exceptions.ProxyConnectionError(proxy_url="u"), "The proxy cannot be reached. Check HTTPS_PROXY."),
        (exceptions.UnknownServiceError(service_name="s", known_service_names=""), "Check the configuration of the"),
        (refused("ExpiredToken"), "AWS does not take the credentials (ExpiredToken). Sign in"),
        (refused("AccessDenied"), "These credentials may not DescribeStackResource. docs/operations.md"),
        (refused("ValidationError"), "There is no stack 'orders' of Stepwire in this Region and account."),
        (refused("ValidationError", "Invoke"), "AWS refuses Invoke."),
    ],
)
def test_each_fault_has_its_cure(error: BotoCoreError | ClientError, words: str) -> None:
    cure = cure_of(error, "orders")

    assert cure.startswith(words)
    assert "\n" not in cure


def test_without_a_stack_it_says_how_to_name_one(capsys: pytest.CaptureFixture[str]) -> None:
    code = replay(Options(""))

    assert (code, capsys.readouterr().err) == (
        2,
        "error: Which stack? Write `stepwire replay STACK`, or `make replay STACK=name`.\n",
    )


def test_without_a_region_it_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")

    code = replay(Options("stepwire", dry_run=True))

    error = capsys.readouterr().err
    assert code == 2
    assert error.startswith("error: No AWS Region is set.")
    assert len(error.splitlines()) == 1
