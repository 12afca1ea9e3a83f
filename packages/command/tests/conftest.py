"""What the tests of the command share: an account in which it runs, and the table of an endpoint."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from packages.command.tests.aws import CREDENTIALS, Aws, aws_at
from packages.command.tests.operated import Stepwire
from stepwire_cli.__main__ import in_front
from stepwire_cli.app import run

if TYPE_CHECKING:
    from packages.command.tests.table import TableOfAnEndpoint


@pytest.fixture
def table() -> "Iterator[TableOfAnEndpoint]":
    """The table of an endpoint, in the simulated account, which is loaded for the tests that ask for it alone."""
    from packages.command.tests.table import TableOfAnEndpoint  # noqa: PLC0415
    from stepwire_local.account.engine import shared_account  # noqa: PLC0415

    with shared_account():
        yield TableOfAnEndpoint()


@pytest.fixture
def in_account(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Stepwire:
    """Run the command in an account, with the stack `live` unless another is named; its code, output and words."""
    for name in ("AWS_PROFILE", "STEPWIRE_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)

    def ran(aws: Aws, *words: str) -> tuple[int, str, str]:
        stack = () if "--stack" in words else ("--stack", "live")
        with aws_at(aws) as url:
            for name, value in {**CREDENTIALS, "AWS_ENDPOINT_URL": url}.items():
                monkeypatch.setenv(name, value)
            code = run(in_front((*words, *stack)))
        out, said = capsys.readouterr()
        assert "Traceback" not in said
        return code, out, said

    return ran
