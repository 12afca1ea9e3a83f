"""Fifty concurrent tasks, of clients of both eras, each with its own result."""

from typing import Any

import anyio
import pytest
from anyio import to_thread
from mcp.client import Client

from stepwire_client.extension import Tasks
from tests.integration.over_http.legacy import LegacyClient
from tests.waiting import HANG_GUARD

pytestmark = pytest.mark.anyio
OF_EACH_ERA = 25


@pytest.mark.long
async def test_fifty_concurrent_tasks_complete_each_with_its_own_result(url: str, legacy_client: LegacyClient) -> None:
    modern: dict[str, Any] = {}
    legacy: dict[str, Any] = {}

    async def run_modern(client: Client, message: str) -> None:
        modern[message] = (
            await client.call_tool("wait_and_echo", {"message": message, "seconds": 1})
        ).structured_content

    async def run_legacy() -> None:
        seen = await to_thread.run_sync(legacy_client, "run_many", str(OF_EACH_ERA))
        legacy.update(seen["results"])

    with anyio.fail_after(HANG_GUARD):
        async with Client(url, extensions=[Tasks()]) as client, anyio.create_task_group() as group:
            group.start_soon(run_legacy)
            for number in range(OF_EACH_ERA):
                group.start_soon(run_modern, client, f"modern {number}")

    results = {message: result["structuredContent"] for message, result in legacy.items()} | modern
    assert len(results) == 2 * OF_EACH_ERA
    assert results == {message: {"message": message, "waited_seconds": 1} for message in results}
