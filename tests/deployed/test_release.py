"""A release, deployed, upgraded and removed by the command alone, on the emulated AWS."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from release.__main__ import about
from stepwire_cli.deployment.parts import extras_of
from stepwire_cli.deployment.release import opened
from tests.deployed.conftest import ADOPTER_BUILT
from tests.deployed.emulator import ROOT, Emulator
from tests.deployed.endpoint import Endpoint
from tests.deployed.stack import (
    aws,
    build,
    compile_what_is_registered,
    deploy,
    for_the_emulator,
    look_at,
)

pytestmark = pytest.mark.anyio
NAME: Final = "released"


def stepwire(emulator: Emulator, *words: str) -> Any:
    """Run the command in an environment of its own, and return what it prints."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **emulator.credentials}
    command = [sys.executable, "-m", "stepwire_cli", *words, "--json"]
    ended = subprocess.run(
        command,
        cwd=ROOT / "packages/command",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return json.loads(ended.stdout.splitlines()[-1]) if ended.stdout else None


async def called(endpoint: Endpoint, arguments: Mapping[str, Any]) -> Any:
    async with endpoint.client() as client:
        return (await client.call_tool("wait_and_echo", dict(arguments))).structured_content


async def test_a_stack_is_deployed_used_upgraded_and_removed(emulator: Emulator, release: Path) -> None:
    where, sign_in = ("--release", str(release), "--yes"), ("Authorizer=none", "DeletionProtection=false")
    stepwire(emulator, "deploy", NAME, *sign_in, f"EndpointUrl={emulator.url}/mcp", *where)
    stack = look_at(NAME, emulator.credentials)
    adopter, _ = for_the_emulator(build(ROOT, ADOPTER_BUILT, platform="host", template="tests/adopter/template.yaml"))
    deploy(adopter, {"Endpoint": NAME}, emulator.credentials, name=f"{NAME}-adopter")
    compile_what_is_registered(stack, emulator.credentials)
    host = emulator.host_of(stack.named("Api"))
    endpoint = Endpoint(f"{emulator.url}/mcp", lambda _caller: None, host=host)

    before = await called(endpoint, {"message": "hello", "seconds": 1})
    stepwire(emulator, "upgrade", NAME, "MostActiveTasks=7", *where)
    after = await called(endpoint, {"message": "again", "seconds": 1})
    seen = stepwire(emulator, "status", NAME)
    stepwire(emulator, "destroy", NAME, "--with-data", "--yes")

    assert (before["message"], after["message"]) == ("hello", "again")
    assert seen["extras"] == sorted(about().extras)
    assert (seen["version"], seen["alarms"], seen["failures"]) == (about().version, [], [])
    assert seen["outputs"]["McpEndpoint"] == endpoint.url
    tables = aws("dynamodb", emulator.credentials).list_tables()["TableNames"]
    assert not [name for name in tables if name.startswith(f"{NAME}-")]


@pytest.mark.parametrize("extras", [(), extras_of(ROOT)[:2]], ids=["core", "two extras"])
def test_another_tool_deploys_what_the_command_prints(
    emulator: Emulator, release: Path, extras: tuple[str, ...]
) -> None:
    """As Terraform does: CloudFormation gets the template's URL, and a value for what has no default."""
    chosen, bucket, name = opened(release).with_extras(extras), f"artifacts-{len(extras)}", f"other-tool-{len(extras)}"
    files, stacks = aws("s3", emulator.credentials), aws("cloudformation", emulator.credentials)
    files.create_bucket(Bucket=bucket)
    for file, content in {**chosen.files, "template.yaml": chosen.template.encode()}.items():
        files.put_object(Bucket=bucket, Key=f"stepwire/{file}", Body=content)
    lacking = {name for name, one in chosen.parameters.items() if "Default" not in one}
    given = {"Authorizer": "iam", "ArtifactBucket": bucket}

    stacks.create_stack(
        StackName=name,
        TemplateURL=f"{emulator.url}/{bucket}/stepwire/template.yaml",
        Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
        Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in given.items()],
    )
    stacks.get_waiter("stack_create_complete").wait(StackName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 100})

    (made,) = stacks.describe_stacks(StackName=name)["Stacks"]
    outputs = {one["OutputKey"]: one["OutputValue"] for one in made["Outputs"]}
    assert lacking == given.keys()
    assert outputs["Extras"] == ",".join(["core", *extras])
    assert outputs["McpEndpoint"].endswith("/mcp")
