"""The projects that `sam init --location` and `stepwire new` make: they are valid, and serve a call."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from packages.command.tests.test_creating import NO_DESCRIPTIONS, NO_NAMES
from release.artifact import About, Idle
from release.artifact import make as make_release
from stepwire.catalog.tools import OWN_TOOLS
from stepwire_cli.app import run as command_line
from stepwire_cli.deployment.parts import extras_of
from stepwire_cli.exits import Exit
from stepwire_local import LocalStack
from stepwire_local.iam.permissions import Call, watched
from tests.grants import roles_of, unused
from tests.waiting import HANG_GUARD, until

ROOT: Final = Path(__file__).parents[2]
TEMPLATES: Final = ROOT / "packages/command/stepwire_cli/templates"
SAM: Final = ROOT / ".venv-sam" / "bin" / "sam"
LINT: Final = ROOT / ".venv" / "bin" / "cfn-lint"
WORDS: Final = 'Reports "sales" of {{year}}, größer than ${amount} \\ 🚀.'
SLOW: Final = """\
  Wait: {Type: Wait, Seconds: 3, Next: Settle}
"""
FAILING: Final = """\
  Refuse: {Type: Fail, Error: Unknown, Cause: the customer is unknown}
"""
Json = dict[str, Any]
Make = Callable[..., Path]


def run(command: list[str | Path], folder: Path, **variables: str) -> str:
    """Run a command without an AWS account or a user's settings; return what it says."""
    alone = {"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8", "SAM_CLI_TELEMETRY": "0"}
    ended = subprocess.run(
        command, cwd=folder, env=alone | variables, capture_output=True, text=True, timeout=HANG_GUARD, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path, str], Path]:
    """Make projects as a user does, from a folder of this repository and the values of its questions; each once."""

    @cache
    def made(location: Path, values: str) -> Path:
        assert SAM.exists(), "run `make .venv-sam/ready`"
        folder, extra = tmp_path_factory.mktemp("made"), ["--extra-context", values]
        run([SAM, "init", "--location", str(location), "--no-input", "--output-dir", str(folder), *extra], folder)
        return folder

    return made


@pytest.fixture
def make(made: Callable[[Path, str], Path], tmp_path: Path) -> Make:
    """Return a project of the test's own; `more` are values of its questions."""

    def generate(location: Path, project: str, **more: str) -> Path:
        values = json.dumps({name: literally(value) for name, value in more.items()})
        return Path(shutil.copytree(made(location, values) / project, tmp_path / project, symlinks=True))

    return generate


def literally(answer: str) -> str:
    """Return an answer as an option takes it, which is a template of Jinja; what a person types is not."""
    return f"{{% raw %}}{answer}{{% endraw %}}"


_WITHOUT_STEPWIRE: Final = """
import sys

sys.modules["stepwire_local"] = None  # as where it is not installed
import pytest

sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "tests"]))
"""


def own_tests(project: Path, **environment: str) -> str:
    """Run the tests of a project with the endpoint of this checkout; return their summary."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-rs",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(project),
        "tests",
    ]
    given = {"STEPWIRE_TEMPLATE": str(ROOT / "stack.yaml"), **environment}
    return run([*command], project, PYTHONPATH=str(ROOT), PYTHONDONTWRITEBYTECODE="1", **given)


def registered(project: Path) -> Json:
    """Read the manifest of a project, without its state machine."""
    text = (project / "template.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text.partition("Value: !Sub |\n")[2])


@pytest.mark.long
def test_a_workflow_as_a_tool_is_valid_and_passes_its_own_tests(make: Make) -> None:
    project = make(TEMPLATES / "workflow-tool", "settle-invoices")

    run([LINT, project / "template.yaml"], project)
    summary = own_tests(project)

    assert "5 passed" in summary
    assert "skipped" not in summary


@pytest.mark.long
def test_its_own_tests_call_the_endpoint_that_the_environment_names(make: Make, tmp_path: Path) -> None:
    project = make(TEMPLATES / "workflow-tool", "settle-invoices")

    summary = own_tests(project, STEPWIRE_TEMPLATE=str(tmp_path / "none.yaml"))

    assert "no template of the endpoint: name it in STEPWIRE_TEMPLATE" in summary
    assert "4 passed, 1 skipped" in summary


_MORE: Final = """
Conditions:
  IsSlow: !Equals [!Ref Endpoint, slow]
Outputs:
  Pace: {Value: !If [IsSlow, !Join ["-", [a, b]], fast]}
"""
_ANOTHER: Final = """
  Setting:
    Type: AWS::SSM::Parameter
    Properties: {Name: /mine/setting, Type: String, Value: "1"}
"""


@pytest.mark.long
def test_its_own_tests_outlive_what_is_added_to_the_template(make: Make) -> None:
    project = make(TEMPLATES / "workflow-tool", "settle-invoices")
    template = project / "template.yaml"
    text = template.read_text(encoding="utf-8")
    tag = '"stepwire:endpoint": !Ref Endpoint'
    assert tag in text

    text = text.replace(tag, f'{tag}, "stepwire:tools": settle_invoices')
    template.write_text(f"{text.rstrip()}\n{_ANOTHER}{_MORE}", encoding="utf-8")

    assert "4 passed, 1 skipped" in run([sys.executable, "-I", "-c", _WITHOUT_STEPWIRE], project)


@pytest.mark.long
def test_its_own_tests_need_no_stepwire_but_for_the_call(make: Make) -> None:
    project = make(TEMPLATES / "workflow-tool", "settle-invoices")

    summary = run([sys.executable, "-I", "-c", _WITHOUT_STEPWIRE], project)

    assert "4 passed, 1 skipped" in summary


def test_a_generated_tool_is_called_beside_the_endpoint_by_the_name_that_was_chosen(make: Make) -> None:
    project = make(
        TEMPLATES / "workflow-tool",
        "Sales_Report",
        project_name="Sales_Report",
        description=WORDS,
        endpoint_stack="ours",
    )

    calls = list[Call]()
    others = [project / "template.yaml"]
    with watched(calls.append), LocalStack(ROOT / "stack.yaml", others=others, name="ours") as stack:
        (listed,) = [one for one in ask(stack, "tools/list")["tools"] if one["name"] == "sales_report"]
        created = ask(stack, "tools/call", name="sales_report", arguments={"customer": "C-7"}, task={})
        task_id = created["task"]["taskId"]
        until(lambda: has_ended(stack, task_id))
        result = ask(stack, "tasks/result", taskId=task_id)
        roles = roles_of(stack.deployments[1])
        spare = unused(roles, calls)

    assert listed["description"] == WORDS == registered(project)["description"]
    assert result["structuredContent"] == {"customer": "C-7", "settled": 3}
    assert set(roles) == {"WorkflowRole"}
    assert spare == set(), "the policies of the template allow what the workflow never does"


@pytest.mark.long
def test_the_whole_repository_as_the_location_makes_a_tool(make: Make) -> None:
    project = make(ROOT, "settle-invoices")

    assert (project / "workflow.asl.yaml").exists()


@pytest.mark.long
def test_the_endpoint_is_valid_and_passes_its_own_test(make: Make) -> None:
    project = make(TEMPLATES / "endpoint", "stepwire-endpoint")

    run([SAM, "validate", "--lint", "--region", "eu-central-1"], project)
    summary = own_tests(project)

    assert "1 passed" in summary
    for name in ("template.yaml", "operations.yaml"):
        assert (project / name).read_bytes() == (ROOT / name).read_bytes()


def test_the_endpoint_keeps_out_of_git_what_its_commands_create_and_copies_the_lock_that_it_uses(make: Make) -> None:
    project = make(TEMPLATES / "endpoint", "stepwire-endpoint")
    for created in (
        ".venv/bin/python",
        ".aws-sam/build.toml",
        "layers/stepwire/stepwire/__pycache__/x.pyc",
        "functions/mcp/catalog.json",
    ):
        (project / created).parent.mkdir(parents=True, exist_ok=True)
        (project / created).touch()

    run(["git", "init", "--quiet"], project)
    seen = run(["git", "ls-files", "--others", "--exclude-standard"], project).splitlines()

    assert [name for name in seen if "venv" in name or "pycache" in name or name.startswith(".aws-sam")] == []
    assert "functions/mcp/catalog.json" not in seen
    assert [name for name in seen if name.startswith("requirements/")] == [
        "requirements/dev.txt",
        "requirements/install.py",
    ]


def test_the_endpoint_s_build_asks_for_the_sam_cli_before_anything_else(make: Make) -> None:
    project = make(TEMPLATES / "endpoint", "stepwire-endpoint")
    tools = project / "only"
    tools.mkdir()
    for tool in ("make", "sh"):
        (tools / tool).symlink_to(shutil.which(tool) or "")

    ended = subprocess.run(
        ["make", "build"], cwd=project, env={"PATH": str(tools)}, capture_output=True, text=True, check=False
    )

    assert ended.returncode != 0
    assert ended.stderr.startswith("The SAM CLI is not installed: pip install aws-sam-cli")


@pytest.mark.long
def test_the_generated_test_of_a_tool_follows_a_workflow_of_several_seconds_and_shows_why_one_failed(
    make: Make,
) -> None:
    project = make(TEMPLATES / "workflow-tool", "settle-invoices")
    definition = project / "workflow.asl.yaml"
    states = definition.read_text(encoding="utf-8")

    definition.write_text(states.replace("StartAt: Settle", "StartAt: Wait") + SLOW, encoding="utf-8")
    assert "5 passed" in own_tests(project)

    definition.write_text(states.replace("StartAt: Settle", "StartAt: Refuse") + FAILING, encoding="utf-8")
    with pytest.raises(AssertionError, match="the customer is unknown"):
        own_tests(project)


@pytest.mark.long
def test_a_generated_tool_passes_sam_validate(make: Make) -> None:
    project = make(TEMPLATES / "workflow-tool", "settle-invoices")

    run([SAM, "validate", "--lint", "--region", "eu-central-1"], project)


def files_of(project: Path) -> dict[str, str]:
    """Read a project."""
    found = (path for path in project.rglob("*") if path.is_file())
    return {path.relative_to(project).as_posix(): path.read_text(encoding="utf-8") for path in found}


def new(*words: str | Path) -> None:
    """Run `stepwire new`."""
    assert command_line(["new", *map(str, words)]) == Exit.DONE


def test_the_command_makes_the_tool_that_sam_init_makes(make: Make, tmp_path: Path) -> None:
    theirs = make(
        TEMPLATES / "workflow-tool",
        "Sales_Report",
        project_name="Sales_Report",
        description=WORDS,
        endpoint_stack="ours",
    )

    ours = tmp_path / "ours"
    new("tool", "--name", "Sales_Report", "--description", WORDS, "--endpoint", "ours", "--output", ours)

    assert files_of(ours) == files_of(theirs)


_REFUSE: Final = """
import json
import sys

from cookiecutter.exceptions import FailedHookException
from cookiecutter.main import cookiecutter

location, *all_answers = map(json.loads, sys.argv[1:])
for answers in all_answers:
    try:
        cookiecutter(location, no_input=True, extra_context=answers)
    except FailedHookException:
        print(sorted(answers), "refused")
"""


@pytest.mark.parametrize(
    ("template", "bad"),
    [
        (
            "workflow-tool",
            {
                "project_name": NO_NAMES,
                "tool_name": sorted(OWN_TOOLS),
                "description": NO_DESCRIPTIONS,
                "endpoint_stack": NO_NAMES,
            },
        ),
        ("endpoint", {"project_name": NO_NAMES, "stack_name": NO_NAMES}),
    ],
)
def test_the_templates_refuse_what_the_command_refuses(
    template: str, bad: dict[str, list[str]], tmp_path: Path
) -> None:
    # No folder can have an empty name, so no hook is asked; a stack may have one of 65 characters.
    answers = [
        {name: literally(one)}
        for name, several in bad.items()
        for one in several
        if name == "description" or (one and (name == "project_name" or len(one) <= 64))
    ]
    command = [SAM.with_name("python"), "-c", _REFUSE, *map(json.dumps, [str(TEMPLATES / template), *answers])]

    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=HANG_GUARD, check=False)

    assert ended.stdout.splitlines() == [f"{[*one]} refused" for one in answers], ended.stderr
    said = [line for line in ended.stderr.splitlines() if line.startswith(tuple(bad))]
    assert len([line for line in said if " cannot be used: write " in line or " bytes, and a " in line]) == len(answers)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A release of these sources, without code in its layers: the local stack has what is in them."""
    build = tmp_path / "build"
    shutil.copytree(
        ROOT / "functions", build / "functions", ignore=shutil.ignore_patterns("Makefile", "__pycache__", ".*")
    )
    shutil.copy(ROOT / "stack.yaml", build / "template.yaml")
    for layer in ("stepwire", "dependencies", "catalog_dependencies", "extras/approvals_or_door"):
        (build / "layers" / layer / "python").mkdir(parents=True)
        (build / "layers" / layer / "python" / "README").touch()
    about = About("1.0.0", "1.0.0", Idle(1.87), dict.fromkeys(extras_of(ROOT), Idle(0.0)))
    return make_release(build, ROOT, tmp_path, about).file


def test_an_endpoint_and_two_tools_that_the_command_makes_are_served(release: Path, tmp_path: Path) -> None:
    """The second tool is added to the project of the first."""
    endpoint, project = tmp_path / "ours", tmp_path / "sales-report"
    new("endpoint", "--name", "ours", "--authorizer", "none", "--release", release, "--output", endpoint)
    new("tool", "--name", "sales-report", "--endpoint", "ours", "--output", project)
    new("tool", "--name", "ask-someone", "--endpoint", "ours", "--output", project)

    assert "8 passed, 2 skipped" in run([sys.executable, "-I", "-c", _WITHOUT_STEPWIRE], project), "checks of each tool"
    readme = (project / "README.md").read_text(encoding="utf-8")
    assert "| `ask_someone` | `ask_someone.asl.yaml` |\n| `sales_report` | `workflow.asl.yaml` |\n" in readme
    with LocalStack(endpoint / "template.yaml", others=[project / "template.yaml"], name="ours") as stack:
        listed = {one["name"] for one in ask(stack, "tools/list")["tools"]}
        created = ask(stack, "tools/call", name="ask_someone", arguments={"customer": "C-7"}, task={})
        task_id = created["task"]["taskId"]
        until(lambda: has_ended(stack, task_id))

    assert listed >= {"sales_report", "ask_someone"}
    assert "ArtifactBucket" not in (endpoint / "template.yaml").read_text(encoding="utf-8")


def test_an_endpoint_offers_the_ways_to_sign_in_that_its_extras_have(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "new",
        "endpoint",
        "--release",
        str(release),
        "--with",
        "none",
        "--output",
        str(tmp_path / "ours"),
        "--yes",
    ]

    assert command_line([*words, "--authorizer", "cognito"]) == Exit.USAGE
    assert "Authorizer=cognito needs the extra user_pool, which is not chosen" in capsys.readouterr().err
    assert command_line(words) == Exit.DONE

    assert '"Authorizer=jwt"' in (tmp_path / "ours/samconfig.toml").read_text(encoding="utf-8")


@pytest.mark.long
def test_what_the_command_makes_is_valid(release: Path, tmp_path: Path) -> None:
    new("endpoint", "--name", "ours", "--release", release, "--output", tmp_path / "ours")
    new("tool", "--name", "sales-report", "--output", tmp_path / "sales")
    new("tool", "--name", "ask-someone", "--output", tmp_path / "sales")

    for project in ("ours", "sales"):
        run([SAM, "validate", "--lint", "--region", "eu-central-1"], tmp_path / project)


def has_ended(stack: LocalStack, task_id: str) -> bool:
    """Return whether a task has completed; False also where a poll comes too early and is refused."""
    return answer(stack, "tasks/get", taskId=task_id).get("result", {}).get("status") == "completed"


def ask(stack: LocalStack, method: str, **params: Any) -> Json:
    """Send a request of 2025-11-25 to function mcp; return its result."""
    return answer(stack, method, **params)["result"]


def answer(stack: LocalStack, method: str, **params: Any) -> Json:
    """Send it; return the whole answer."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    event: Json = {
        "version": "2.0",
        "rawPath": "/mcp",
        "rawQueryString": "",
        "headers": {**headers, "mcp-protocol-version": "2025-11-25"},
        "requestContext": {
            "http": {"method": "POST", "path": "/mcp"},
            "requestId": "1",
            "timeEpoch": 1_800_000_000_000,
        },
        "body": json.dumps(message),
        "isBase64Encoded": False,
    }
    return json.loads(stack.invoke("McpFunction", event)["body"])
