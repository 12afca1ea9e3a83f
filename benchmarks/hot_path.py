"""Measure cold starts and requests as ratios within one run: `python -m benchmarks.hot_path`.

Milliseconds differ between machines; ratios show whether a change made the hot path slower. The baseline of an import,
in a fresh interpreter, is the import of boto3, which every function needs; the baseline of a request is `ping`. The
store is in memory, so only our own code counts. The first tools/call of an instance is measured against a simulated AWS
on this machine, without and with the contents of a snapshot; Lambda's own restore time is not included.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from timeit import repeat
from typing import Final

from stepwire.audit import AuditEntry
from stepwire.json_text import JsonObject
from stepwire.principal import Caller
from stepwire.protocol.http import HttpRequest
from tests.cold_start import CREDENTIALS, always_succeeding_aws, run, write_catalog
from tests.kits import ALICE, ARGUMENTS, World

IMPORTS: Final = ("boto3", "stepwire.server.mcp_server", "stepwire.aws.mcp_function")
ROUNDS: Final = 7
REQUESTS: Final = 200
FIRST_CALL: Final = """
import time
times = [time.perf_counter()]
import app, json, os
times.append(time.perf_counter())
app.handler(json.loads(os.environ["CALL"]), None)
times.append(time.perf_counter())
print(json.dumps([(after - before) * 1000 for before, after in zip(times, times[1:])]))
"""


def main() -> None:
    """Print the tables."""
    _print("import in a fresh interpreter", {name: _import_time(name) for name in IMPORTS})
    _print("until the first tools/call is answered", _first_calls())
    world = World(audit=list[AuditEntry]())  # not checked: that would be counted
    task = world.call()
    asked: dict[str, tuple[str, JsonObject]] = {
        "ping": ("ping", {}),
        "tools/list": ("tools/list", {}),
        "tools/call as a task": ("tools/call", {"name": "optional", "arguments": ARGUMENTS, "task": {}}),
        "tasks/get": ("tasks/get", {"taskId": task.task_id}),
    }
    _print("request", {shown: _request_time(world, *call) for shown, call in asked.items()})


def _import_time(module: str) -> float:
    code = f"import time; t = time.perf_counter(); import {module}; print((time.perf_counter() - t) * 1000)"
    command = [sys.executable, "-c", code]
    runs = [subprocess.run(command, capture_output=True, check=True, text=True) for _ in range(ROUNDS)]  # noqa: S603 - our own words
    return median(float(run.stdout) for run in runs)


def _first_calls() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder, always_succeeding_aws() as aws:
        write_catalog(Path(folder))
        given = {**dict.fromkeys(CREDENTIALS, "a key"), "AWS_ENDPOINT_URL": f"http://127.0.0.1:{aws.port}"}
        kinds = ("on-demand", "snap-start")
        runs = [_medians(Path(folder), {**given, "AWS_LAMBDA_INITIALIZATION_TYPE": kind}) for kind in kinds]
    (start, call), (_, call_after_snapshot) = runs
    return {"from nothing": start + call, "of that, the call": call, "from a snapshot": call_after_snapshot}


def _medians(folder: Path, variables: Mapping[str, str]) -> list[float]:
    runs: list[list[float]] = [run(FIRST_CALL, folder, variables) for _ in range(ROUNDS)]
    return [median(times) for times in zip(*runs, strict=True)]


def _request_time(world: World, method: str, params: JsonObject) -> float:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    headers = {"content-type": "application/json", "mcp-protocol-version": "2025-11-25"}
    request = HttpRequest("POST", headers, body, Caller(ALICE))
    return median(repeat(lambda: world.server.handle(request), repeat=ROUNDS, number=REQUESTS)) / REQUESTS * 1000


def _print(title: str, times: Mapping[str, float]) -> None:
    first = next(iter(times.values()))
    rows = (f"{name:<24} {time:8.3f} ms {time / first:6.2f}" for name, time in times.items())
    sys.stdout.write("\n".join((title, *rows, "", "")))


if __name__ == "__main__":
    main()
