"""What a snapshot may contain: everything that all copies share, and nothing that must differ between copies."""

import re
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import pytest

from stepwire.aws.background_functions import (
    ExecutionEventsHandler,
    ExpirationsHandler,
    InputRequestsHandler,
    SweepHandler,
)
from stepwire.aws.catalog_function import CatalogHandler
from stepwire.aws.mcp_function import McpHandler
from stepwire.aws.status_changes_function import StatusChangesHandler
from tests.cold_start import CREDENTIALS, ROOT, Aws, always_succeeding_aws, run, write_catalog
from tests.extras import parts

HANDLERS: Final = (
    *(McpHandler, CatalogHandler, StatusChangesHandler),
    *(ExecutionEventsHandler, ExpirationsHandler, InputRequestsHandler, SweepHandler),
    *(handler for part in parts("handlers") for handler in part.HANDLERS),
)
SNAP_START: Final = {"AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start"}
ON_DEMAND: Final = {"AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand"}

# Before any import: guards around randomness, credentials and connections, which record each use.
GUARD: Final = """
import os, sys, traceback
touched = []
def forbid(name, real):
    def guard(*args, **kwargs):
        touched.append(f"{name} by {traceback.extract_stack()[-2].filename}")
        return real(*args, **kwargs)
    return guard
os.urandom = forbid("os.urandom", os.urandom)
outside = {"socket.connect", "socket.getaddrinfo", "socket.sendto"}
sys.addaudithook(lambda event, _: touched.append(event) if event in outside else None)
import botocore.session, random, secrets, uuid
for module, name in [
    (botocore.session.Session, "get_credentials"), (random.Random, "random"), (random.SystemRandom, "getrandbits"),
    (secrets, "token_bytes"), (uuid, "uuid1"), (uuid, "uuid4"),
]:
    setattr(module, name, forbid(name, getattr(module, name)))
"""

START: Final = GUARD + "import app, json\n"
REPORT: Final = """
import boto3
from stepwire.schemas import validation
session = boto3.DEFAULT_SESSION
print(json.dumps({
    "touched": touched,
    "built": "_server" in vars(app.handler),
    "schemas": validation._compiled.cache_info().currsize,
    "session": session is not None,
    "loaded": [name for name in ("aws_lambda_powertools", "botocore.client", "pydantic_core") if name in sys.modules],
    "credentials": session is not None and session._session._credentials is not None,
    "memories": [
        name
        for part in ([app.handler._server.services.secret, app.handler._server.services.operations.recorder.store.table,
            app.handler._server.services.operations.workflows] if "_server" in vars(app.handler) else [])
        for name in ("_values", "_client", "client")
        if name in getattr(part, "__dict__", ()) or (name in part.__struct_fields__ and getattr(part, name))
    ],
}))
"""

# Two processes continue from the end of the initialization, as two copies of one snapshot do.
COPIES: Final = (
    START
    + """
event = json.loads(os.environ["CALL"])
def answer(request):
    return app.handler({**event, "body": json.dumps(request)}, None)
def poll(number):
    return {"jsonrpc": "2.0", "id": number, "method": "tasks/get", "params": {"taskId": "a task"}}
copies = []
for copy, polls in ("FIRST", 5), ("SECOND", 1):
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.environ.update(AWS_ACCESS_KEY_ID=copy, AWS_SECRET_ACCESS_KEY="of " + copy)
        call = json.loads(event["body"])
        lives = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "it", "version": "1"}}
        opened = answer({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": lives})
        made = answer(call)
        codes = [json.loads(answer(poll(number))["body"])["error"]["code"] for number in range(polls)]
        os.write(writing, json.dumps({
            "session": opened["headers"]["mcp-session-id"],
            "task": json.loads(made["body"])["result"]["task"]["taskId"],
            "codes": codes,
        }).encode())
        os._exit(0)
    os.close(writing)
    copies.append(json.loads(b"".join(iter(lambda: os.read(reading, 65536), b""))))
    os.wait()
print(json.dumps(copies))
"""
)


@pytest.fixture
def task_root(tmp_path: Path) -> Path:
    write_catalog(tmp_path)
    return tmp_path


@pytest.fixture
def aws() -> Generator[Aws]:
    with always_succeeding_aws() as started:
        yield started


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What function mcp is before its snapshot."""
    folder = tmp_path_factory.mktemp("task")
    write_catalog(folder)
    return run(START + REPORT, folder, SNAP_START)


def test_shareable_parts_are_built_before_the_snapshot(frozen: dict[str, Any]) -> None:
    found = frozen

    assert found["built"]
    assert found["schemas"] >= 4, "the catalog must have at least four compiled schemas"
    assert found["session"]
    assert found["loaded"] == ["aws_lambda_powertools", "botocore.client", "pydantic_core"]


def test_nothing_unique_secret_or_connected_is_touched_before_the_snapshot(frozen: dict[str, Any]) -> None:
    found = frozen

    # Importing multiprocessing creates a random key, which functions never use.
    touched = {touch for touch in found["touched"] if not touch.endswith("multiprocessing/process.py")}
    assert touched == set()
    assert not found["credentials"]
    assert found["memories"] == []


def test_credentials_present_before_the_snapshot_are_not_used(task_root: Path) -> None:
    found = run(START + REPORT, task_root, {**SNAP_START, **dict.fromkeys(CREDENTIALS, "A KEY")})

    assert not any("credentials" in touch for touch in found["touched"])
    assert not found["credentials"]


def test_a_start_without_a_snapshot_builds_nothing_before_the_first_request(task_root: Path) -> None:
    found = run(START + REPORT, task_root, ON_DEMAND)

    assert not found["built"]
    assert not found["session"]
    assert found["schemas"] == 0


def test_the_guards_detect_what_a_request_uses(task_root: Path, aws: Aws) -> None:
    request = START + 'answered = app.handler(json.loads(os.environ["CALL"]), None)\n' + REPORT

    found = run(request, task_root, {**SNAP_START, **dict.fromkeys(CREDENTIALS, "A KEY"), **endpoint(aws)})

    assert any(touch.startswith("get_credentials") for touch in found["touched"])
    assert any(touch.startswith("os.urandom") for touch in found["touched"])
    assert "socket.connect" in found["touched"]
    assert found["memories"] == ["client", "_client"]


def test_two_copies_of_a_snapshot_have_different_ids_and_credentials_and_share_no_request_state(
    task_root: Path, aws: Aws
) -> None:
    first, second = run(COPIES, task_root, {**SNAP_START, **endpoint(aws)})

    assert first["session"] != second["session"]
    assert first["task"][10:] != second["task"][10:], "the random part of the ids must differ"
    assert set(aws.signed_by) == {"FIRST", "SECOND"}
    assert first["codes"][-1] == -31002, "each copy must count polls on its own"
    assert second["codes"][-1] == -32602


def test_no_module_uses_randomness_that_copies_would_share() -> None:
    imports = re.compile(r"^\s*(?:import|from) (?:random|uuid)\b", re.MULTILINE)

    found = [path.name for path in (ROOT / "layers/stepwire").rglob("*.py") if imports.search(path.read_text("utf-8"))]

    assert found == [], "use secrets: the kernel's randomness is new in every copy"


def endpoint(aws: Aws) -> dict[str, str]:
    return {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{aws.port}"}


FREEZE: Final = """
import app, gc, json, os
event, counts = json.loads(os.environ["CALL"]), [gc.get_freeze_count()]
for _ in range(2):
    app.handler(event, None)
    counts.append(gc.get_freeze_count())
print(json.dumps(counts))
"""


@pytest.mark.parametrize("of_one_function", [True, False], ids=["in Lambda", "where functions share a process"])
def test_what_the_first_event_has_built_is_left_out_of_collections(
    task_root: Path, aws: Aws, of_one_function: bool
) -> None:
    runtime = {"AWS_LAMBDA_RUNTIME_API": "127.0.0.1:9001"} if of_one_function else {}

    before, first, second = run(FREEZE, task_root, {**endpoint(aws), **runtime})

    assert before == 0
    assert (first > 20_000) is of_one_function
    assert second == first


@pytest.mark.parametrize("handler", HANDLERS, ids=lambda handler: handler.__name__)
def test_every_function_does_so(handler: type) -> None:
    assert hasattr(handler.__call__, "__wrapped__"), "its __call__ has no @builds_once"
