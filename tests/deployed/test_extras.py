"""A stack goes from all extras to none, to each alone and back to all, by the command, on the emulated AWS."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from mcp_types import ElicitRequestParams, ElicitResult

from packages.local.tests.issuer import AUDIENCE, TestIssuer
from release.__main__ import about
from stepwire_client import Callbacks, Task, TaskCancelled, Working
from tests.deployed.conftest import ADOPTER_BUILT
from tests.deployed.emulator import ROOT, Emulator
from tests.deployed.endpoint import Endpoint
from tests.deployed.stack import (
    build,
    compile_what_is_registered,
    deploy,
    for_the_emulator,
    look_at,
)
from tests.deployed.test_release import stepwire

pytestmark = pytest.mark.anyio
NAME: Final = "choosing"
REFUND: Final = {"order_id": "A-1002", "amount": "249.00", "currency": "EUR", "reason": "It wobbles."}


async def _answer(_params: ElicitRequestParams) -> ElicitResult:
    return ElicitResult(action="accept", content={"amount": 120.5})


ASKS: Final = Callbacks(elicit=_answer)
"""What a client does that can ask its user."""


def adopted(emulator: Emulator) -> str:
    """Register the workflows of the tests with the endpoint, and return the header Host of its API."""
    stack = look_at(NAME, emulator.credentials)
    adopter, _ = for_the_emulator(build(ROOT, ADOPTER_BUILT, platform="host", template="tests/adopter/template.yaml"))
    deploy(adopter, {"Endpoint": NAME}, emulator.credentials, name=f"{NAME}-adopter")
    compile_what_is_registered(stack, emulator.credentials)
    return emulator.host_of(stack.named("Api"))


async def begun(endpoint: Endpoint, tool: str, arguments: Mapping[str, Any]) -> str:
    async with endpoint.client(callbacks=ASKS) as client:
        handle = await client.create_task(tool, dict(arguments))
        assert isinstance(handle, Working)
        return handle.task_id


async def until(endpoint: Endpoint, task_id: str, status: str) -> Task:
    """Poll a task until it has a status."""
    async with endpoint.client(callbacks=ASKS) as client:
        with anyio.fail_after(60):
            while (task := await client.get_task(task_id)).status != status:
                await anyio.sleep(0.2)
    return task


async def test_tasks_outlive_each_choice_of_extras(emulator: Emulator, release: Path, issuer: TestIssuer) -> None:
    """One has ended before, one is answered and ends without extras, one is answered afterwards, and one goes on.

    From one extra to another, the one is removed and the other added in one update.
    """
    where = ("--release", str(release), "--yes")
    sign_in = ("Authorizer=jwt", f"JwtIssuer={issuer.url}", f"JwtAudience={AUDIENCE}", "DeletionProtection=false")
    stepwire(emulator, "deploy", NAME, *sign_in, f"EndpointUrl={emulator.url}/mcp", "--with", "all", *where)
    host = adopted(emulator)
    endpoint = Endpoint(f"{emulator.url}/mcp", lambda caller: issuer.valid(sub=caller), host=host)
    ended = await begun(endpoint, "wait_and_echo", {"message": "before"})
    await until(endpoint, ended, "completed")
    works = await begun(endpoint, "wait_and_echo", {"message": "all the time", "seconds": 3600})
    ends = await begun(endpoint, "wait_and_echo", {"message": "without", "seconds": 5})
    asks, asks_later = [await begun(endpoint, "approve_refund", REFUND) for _ in range(2)]
    for one in (asks, asks_later):
        await until(endpoint, one, "input_required")

    planned = stepwire(emulator, "upgrade", NAME, "--with", "none", "--dry-run", *where)
    stepwire(emulator, "upgrade", NAME, "--with", "none", *where)
    without = stepwire(emulator, "status", NAME)["extras"]
    seen = {one: (await until(endpoint, one, "completed")).status for one in (ended, ends)}
    seen |= {works: (await until(endpoint, works, "working")).status}
    async with endpoint.client(callbacks=ASKS) as client:
        results = [(await client.task_result(one)).structured_content for one in (ended, ends, asks)]
    for extra in about().extras:
        stepwire(emulator, "upgrade", NAME, "--with", extra, *where)
        chosen = stepwire(emulator, "status", NAME)
        async with endpoint.client(callbacks=ASKS) as client:
            new = await client.call_tool("wait_and_echo", {"message": extra, "seconds": 0})
            states = [(await client.get_task(one)).status for one in (asks_later, works)]
        assert (chosen["extras"], chosen["failures"]) == ([extra], [])
        assert new.structured_content == {"message": extra, "waited_seconds": 0}
        assert states == ["input_required", "working"], extra
    stepwire(emulator, "upgrade", NAME, "--with", "all", *where)
    again = stepwire(emulator, "status", NAME)["extras"]
    async with endpoint.client(callbacks=ASKS) as client:
        after = [(await client.task_result(one)).structured_content for one in (ended, ends, asks, asks_later)]
        still = (await client.get_task(works)).status
        await client.cancel_task(works)
        with pytest.raises(TaskCancelled):
            await client.task_result(works)
    stepwire(emulator, "destroy", NAME, "--with-data", "--yes")

    assert planned["inUse"] == []
    assert (without, again) == ([], sorted(about().extras))
    assert seen == {ended: "completed", ends: "completed", works: "working"}
    assert [one and one.get("message", one.get("refunded")) for one in results] == ["before", "without", "120.50"]
    assert after[:3] == results
    assert after[3] is not None
    assert (after[3]["refunded"], still) == ("120.50", "working")
