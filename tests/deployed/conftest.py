"""The stack, built and deployed to an emulated AWS once for all scenarios; or an existing one, if ENDPOINT is set.

`make test` leaves these tests out; `make e2e` runs them.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from packages.local.tests.issuer import AUDIENCE, TestIssuer
from tests.deployed.emulator import ROOT, Emulator
from tests.deployed.endpoint import Endpoint, in_an_account
from tests.deployed.not_served import GAPS, LEFT_OUT
from tests.deployed.stack import (
    NAME,
    Stack,
    build,
    compile_what_is_registered,
    deploy,
    for_the_emulator,
    look_at,
    release_for_the_emulator,
)

BUILT: Final = ROOT / ".aws-sam/e2e"
ADOPTER_BUILT: Final = ROOT / ".aws-sam/e2e-adopter"
# High limits, because most tests share one caller.
LIMITS: Final = {"MostActiveTasks": "1000", "MostTasksPerMinute": "6000"}

# The places in the template where something was left out.
TAKEN: Final = pytest.StashKey[list[str]]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests in this folder, so that `make test` leaves them out."""
    for item in items:
        if item.nodeid.startswith("tests/deployed/"):
            item.add_marker("deployed")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what a green run does not prove."""
    taken = terminalreporter.config.stash.get(TAKEN, None)
    if taken is None:
        return
    terminalreporter.section("what the emulated AWS cannot serve, and so is not shown by this run")
    for gap in (*LEFT_OUT, *GAPS):
        terminalreporter.write_line(f"- {gap.what}: {gap.why}")
    terminalreporter.write_line(f"left out of the template: {', '.join(taken) or 'nothing'}")


@pytest.fixture(scope="session")
def built() -> Path:
    """The folder of the template that `sam build` built for the emulator."""
    if os.environ.get("ENDPOINT"):
        pytest.skip("ENDPOINT is set: nothing is built or deployed")
    return build(ROOT, BUILT, platform="host")


@pytest.fixture(scope="session")
def whole(built: Path) -> Path:
    """The same folder, with what a release is made of: the code of all extras."""
    if os.environ.get("WITH"):
        pytest.skip("WITH is set: a release has all extras")
    return built


@pytest.fixture(scope="session")
def release(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release of this commit, without what the emulator cannot serve (not_served.py)."""
    return release_for_the_emulator(whole, tmp_path_factory.mktemp("release"))


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    """The emulated AWS. SIGTERM to the tests ends it too; otherwise it would keep running."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with Emulator(tmp_path_factory.mktemp("emulator")) as emulator:
        yield emulator


@pytest.fixture(scope="session")
def issuer() -> Iterator[TestIssuer]:
    """The issuer whose tokens the emulated API Gateway accepts."""
    with TestIssuer() as issuer:
        yield issuer


@pytest.fixture(scope="session")
def emulated(built: Path, emulator: Emulator, issuer: TestIssuer, request: pytest.FixtureRequest) -> Endpoint:
    """The endpoint on the emulator."""
    template, taken = for_the_emulator(built)
    request.config.stash[TAKEN] = taken
    # Clients call a fixed URL, which is known before the API exists, so the metadata and the tokens can name it.
    url = f"{emulator.url}/mcp"
    sign_in = {"Authorizer": "jwt", "JwtIssuer": issuer.url, "JwtAudience": AUDIENCE, "EndpointUrl": url}
    stack = deploy(template, {**sign_in, **LIMITS}, emulator.credentials)
    register_tools(stack, emulator)
    return Endpoint(
        url,
        token_of=lambda caller: issuer.valid(sub=caller),
        host=emulator.host_of(stack.named("Api")),
        stack=stack,
        environment=emulator.credentials,
    )


def register_tools(stack: Stack, emulator: Emulator) -> None:
    """Deploy the stack with the workflows, and let function catalog compile what it registers: see GAPS."""
    built = build(ROOT, ADOPTER_BUILT, platform="host", template="tests/adopter/template.yaml")
    template, _ = for_the_emulator(built)
    deploy(template, {"Endpoint": NAME}, emulator.credentials, name=f"{NAME}-adopter")
    compile_what_is_registered(stack, emulator.credentials)


@pytest.fixture(scope="session")
def endpoint(request: pytest.FixtureRequest) -> Endpoint:
    """The endpoint: that in a real account if ENDPOINT is set, otherwise the emulated one."""
    url, stack = os.environ.get("ENDPOINT"), os.environ.get("STACK")
    if url:
        return in_an_account(url, look_at(stack, os.environ) if stack else None)
    return request.getfixturevalue("emulated")
