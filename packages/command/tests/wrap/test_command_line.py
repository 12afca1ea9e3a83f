"""The command as people run it, against the services of the local stack over HTTP."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from packages.command.tests.terminal import CTRL_C, at_a_terminal
from packages.wrap.tests.samples import machine, passed
from stepwire.manifests.reading import compile_directory, read_manifest
from stepwire_local import LocalStack
from stepwire_local.account.services import CONTAINER_HOST
from tests.integration.stacks import ROOT
from tests.waiting import until

DEFINITION = json.dumps({**machine(A=passed(Parameters={"x.$": "$.id"})), "Comment": "Ships an order that was paid."})


# Each case is a process of its own: ALL=1 runs those of which another with the same cause remains.
long = pytest.mark.long


@pytest.fixture(scope="module")
def stack() -> Iterator[LocalStack]:
    with LocalStack(ROOT / "stack.yaml", services_at="127.0.0.1") as stack:
        states = stack.client("stepfunctions")
        for name in ("First", "Second"):
            arn = states.create_state_machine(
                name=name, definition=DEFINITION, roleArn="arn:aws:iam::123456789012:role/x",
                tags=[{"key": "team", "value": "x"}],
            )["stateMachineArn"]  # fmt: skip
            states.start_execution(stateMachineArn=arn, input='{"id": "a"}')
            until(lambda arn=arn: not states.list_executions(stateMachineArn=arn, statusFilter="RUNNING")["executions"])
        yield stack


def stepwire(stack: LocalStack, folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder, and hold it to one line an error."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "STEPWIRE_"))},
        **variables_for(stack, folder),
        **variables,
    }
    ran = subprocess.run(
        [sys.executable, "-m", "stepwire_cli", *words],
        env={name: value for name, value in environment.items() if value},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in ran.stderr
    return ran


def variables_for(stack: LocalStack, folder: Path) -> dict[str, str]:
    """Return the environment in which the command reaches the stack's services, and nothing of this machine's user."""
    return {
        "AWS_ENDPOINT_URL": stack.services_url.replace(CONTAINER_HOST, "127.0.0.1"),
        "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any",
        "AWS_REGION": "us-east-1",
        "AWS_CONFIG_FILE": str(folder / "none"),
        "AWS_EC2_METADATA_DISABLED": "true",
        "PYTHONPATH": os.pathsep.join(
            str(ROOT / one) for one in ("packages/client", "packages/command", "layers/stepwire")
        ),
    }


@long
def test_tagged_machines_are_wrapped_reviewed_and_registered(stack: LocalStack, tmp_path: Path) -> None:
    wrapped = stepwire(stack, tmp_path, "wrap", "--tag", "team=x")

    assert wrapped.returncode == 0
    rows = [line.split() for line in wrapped.stdout.splitlines()]
    assert rows == [["first", "First", "1", "1", "1"], ["second", "Second", "1", "1", "1"]]
    assert wrapped.stderr.splitlines() == [
        "2 manifests written to tools/.",
        "Next: review them; `stepwire doctor tools` says what is left to correct.",
    ]
    assert compile_directory(tmp_path / "tools")

    registered = stepwire(stack, tmp_path, "wrap", "--tag", "team=x", "--apply", "--endpoint", "live")

    assert registered.returncode == 0
    found = stack.client("ssm").get_parameters_by_path(Path="/stepwire/live/tools/")["Parameters"]
    assert [read_manifest(one["Value"]).name for one in found] == ["first", "second"]

    again = stepwire(stack, tmp_path, "--json", "wrap", "First", "--apply", "--dry-run", STEPWIRE_ENDPOINT="live")

    assert json.loads(again.stdout)[0]["tool"] == "first"
    assert "would do" not in again.stderr

    examined = stepwire(stack, tmp_path, "doctor", "--endpoint", "live")

    assert examined.returncode == 1
    assert "input_schema.properties.id: it has no description" in examined.stdout
    assert "what answers cloudformation:DescribeStackResource is not AWS" in examined.stdout, "not served locally"


@long
@pytest.mark.parametrize(("typed", "code", "is_replaced"), [("n\n", 1, False), ("y\n", 0, True), (CTRL_C, 130, False)])
def test_a_person_is_asked_before_something_is_replaced(
    stack: LocalStack, tmp_path: Path, typed: str, code: int, is_replaced: bool
) -> None:
    words = ["wrap", "First", "--apply", "--endpoint", f"asks-{code}"]
    stepwire(stack, tmp_path, *words, "--yes")
    file = tmp_path / "tools" / "first.yaml"
    file.write_text(file.read_text().replace("Ships an order", "Sends an order"), encoding="utf-8")

    session = at_a_terminal(words, [("[y/n]", typed)], environment=variables_for(stack, tmp_path), folder=tmp_path)

    (found,) = stack.client("ssm").get_parameters_by_path(Path=f"/stepwire/asks-{code}/tools/")["Parameters"]
    assert session.code == code
    assert ("Sends an order" in found["Value"]) is is_replaced
    assert ("left as it is; --yes replaces it" in session.text) is (code == 1)


@pytest.mark.parametrize(
    ("words", "variables", "code", "line"),
    [
        pytest.param(["wrap"], {}, 2, "name state machines, choose them by --tag KEY=VALUE or --stack NAME, or give a "
                     "file or folder", marks=long),
        pytest.param(["wrap", "--tag", "team"], {}, 2, "'team' is no tag: write --tag KEY=VALUE.", marks=long),
        pytest.param(["wrap", "Frist"], {}, 5, "Frist: no state machine of this account and Region has that name; "
                     "did you mean First?", marks=long),
        pytest.param(["wrap", "First"], {"AWS_REGION": ""}, 2, "no Region: add --region, or set AWS_REGION",
                     marks=long),
        pytest.param(["wrap", "First"], {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, 4,
                     "no credentials for AWS: sign in (`aws sso login`, `aws login`, `aws configure`), add --profile, "
                     "or set AWS_PROFILE", marks=long),
        pytest.param(["--profile", "nobody", "wrap", "First"], {}, 4, "The config profile (nobody) could not be found: "
                     "`aws configure list-profiles` lists those there are", marks=long),
        pytest.param(["wrap", "First"], {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, 3,
                     "AWS cannot be reached for stepfunctions:ListStateMachines: check the network, HTTPS_PROXY and "
                     '--region: Could not connect to the endpoint URL: "http://127.0.0.1:1/"', marks=long),
        pytest.param(["doctor"], {}, 2, "Check what? Write a PATH of manifests, or --endpoint NAME for what is "
                     "registered.", marks=long),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line_and_an_exit_code(
    stack: LocalStack, tmp_path: Path, words: list[str], variables: dict[str, str], code: int, line: str
) -> None:
    ran = stepwire(stack, tmp_path, *words, **variables)

    assert (ran.stderr, ran.stdout, ran.returncode) == (f"error: {line}\n", "", code)
    assert list(tmp_path.iterdir()) == []
