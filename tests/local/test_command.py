"""The command: what it prints, and its exit codes."""

import re
import signal
import subprocess
import sys
from argparse import Namespace
from ipaddress import IPv4Address
from pathlib import Path

import httpx
import pytest

from local import LocalStack
from local.__main__ import services_welcome
from tests.local.conftest import TEMPLATE
from tests.waiting import HANG_GUARD

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "local"]


def failed(*arguments: str) -> str:
    ended = subprocess.run(
        [*COMMAND, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=HANG_GUARD, check=False
    )
    assert ended.returncode == 2
    assert ended.stdout == ""
    return ended.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_told_to_stop(number: signal.Signals) -> None:
    arguments = ["--template", str(TEMPLATE), "--port", "0", "--parameter", "Greeting=moin", "--expire-after", "5"]
    with subprocess.Popen(
        [*COMMAND, *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as served:
        assert served.stdout is not None
        url = served.stdout.readline().split()[1]
        answer = httpx.post(url, json={}, timeout=HANG_GUARD).json()
        served.send_signal(number)
        assert served.stderr is not None
        rest, errors = served.stdout.read(), served.stderr.read()

    assert answer["environment"]["GREETING"] == "moin"
    assert (served.returncode, errors) == (0, "")
    assert f"claude mcp add --transport http stepwire {url}" in rest
    assert re.search(r'"mcpServers": \{"stepwire": \{"type": "http", "url": "http://127', rest)
    assert "Setting: AWS::SSM::Parameter is not served" in rest


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--template", "gone.yaml"], "error: gone.yaml does not exist"),
        (["--template", str(TEMPLATE), "--parameter", "Authorizer=maybe"], "must be one of jwt, iam, none"),
    ],
)
def test_what_keeps_it_from_serving_is_one_line(arguments: list[str], words: str) -> None:
    error = failed(*arguments)

    assert words in error
    assert len(error.splitlines()) == 1


def test_a_parameter_without_a_value_is_refused() -> None:
    assert "is not KEY=VALUE" in failed("--parameter", "Greeting")


@pytest.mark.parametrize(
    ("address", "words"),
    [("0.0.0.0", "is every address of this machine"), ("somewhere", "is not an IPv4 address")],
)
def test_services_listen_on_one_address_that_is_named(address: str, words: str) -> None:
    assert words in failed("--services", "--host", address)


@pytest.mark.parametrize(("address", "warns"), [("127.0.0.1", False), ("172.17.0.1", True)])
def test_services_that_others_may_reach_say_so(address: str, warns: bool) -> None:
    stack = LocalStack(TEMPLATE, services_at=address)

    text = services_welcome(stack, Namespace(host=IPv4Address(address), env_vars=Path("env.json")))

    assert (f"WARNING: whoever reaches {address}" in text) is warns
