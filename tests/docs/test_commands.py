"""Every command in the documents is tested, or is an existing target or module, or has a reason."""

import importlib.util
import re
from functools import cache
from typing import Final

import pytest

from stepwire_local.cloudformation.template import read
from tests.docs.pages import PAGES, ROOT, page, shown_by_extras
from tests.template.document import template

# A page whose commands a test runs unchanged.
RUN_BY: Final = {"docs/calling_by_hand.md": "tests/docs/test_readme.py"}
# Page and first word of commands that a test runs as they are shown.
RUN_AS_SHOWN: Final = {
    ("docs/adopting.md", "export"): "tests/docs/test_adopting.py",
    ("docs/adopting.md", ".venv/bin/stepwire"): "tests/docs/test_adopting.py",
    ("docs/running_locally.md", "export"): "tests/integration/test_operating_locally.py",
    ("docs/running_locally.md", "stepwire"): "tests/integration/test_operating_locally.py",
    ("README.md", "export"): "tests/docs/test_readme.py",
    ("README.md", ".venv/bin/stepwire"): "tests/docs/test_readme.py",
}
_OPERATORS = "needs an AWS account; the names in it are held against the template by tests/template/test_seen.py"
_RELEASE = "needs an AWS account; tests/deployed/test_release.py deploys a release to the emulated AWS"
_RESTORING = "needs two Regions of AWS; tests/docs/test_aws_commands.py holds it against the models of AWS"
_HANGING = "needs an AWS account; tests/integration/test_operators.py takes the same steps on the local stack"
_OWN_CI = "needs a release; tests/release/test_wheels.py installs one, and tests/templates makes a project of it"
# Page and first word of each command that no test can run, with the reason.
UNTESTABLE: Final = {
    (
        "CONTRIBUTING.md",
        "pre-commit",
    ): "needs pre-commit and the .git of a checkout; tests/docs/test_habits.py reads its hooks",
    (
        "docs/adopting.md",
        "stepwire",
    ): "writes into this folder; tests/templates/test_templates.py makes both in another",
    ("docs/adopting.md", "aws"): "needs an AWS account; tests/integration/test_registration.py makes the same calls",
    ("docs/tracing.md", "stepwire"): "needs an AWS account; packages/command/tests/test_timeline.py runs it",
    ("docs/agentcore.md", "aws"): "needs a Gateway; tests/clients/replayed/test_agentcore_gateway.py checks its input",
    (
        "docs/agentcore.md",
        "stepwire",
    ): "asks a server by its name; packages/command/tests/test_publishing.py runs it on the loopback",
    ("docs/completion_events.md", "aws"): "makes a secret in an AWS account",
    (
        "docs/issuers/README.md",
        "stepwire",
    ): "asks a server by its name; packages/command/tests/test_sign_in.py runs it on the loopback",
    ("docs/deploying.md", "unzip"): _RELEASE,
    ("docs/deploying.md", "sha256sum"): _RELEASE,
    ("docs/deploying.md", "aws"): _RELEASE,
    ("docs/deploying.md", ".venv/bin/stepwire"): _RELEASE,
    ("docs/deploying.md", "stepwire"): _RELEASE,
    **{("docs/testing.md", word): _OWN_CI for word in ("pip", "stepwire", "STEPWIRE_TEMPLATE")},
    ("docs/running_locally.md", "uvx"): _OWN_CI,
    ("docs/operations.md", "aws"): _OPERATORS,
    ("docs/operations.md", "ask"): _OPERATORS,
    ("docs/operations.md", "ask()"): _OPERATORS,
    ("docs/operations.md", "id()"): _OPERATORS,
    ("docs/operations.md", "STACK"): _OPERATORS,
    ("docs/operations.md", "PREFIX"): _OPERATORS,
    ("docs/operations.md", "hex()"): _OPERATORS,
    ("docs/operations.md", "for"): _OPERATORS,
    ("docs/operations.md", "stepwire"): "needs an AWS account; tests/integration/test_operators.py runs it locally",
    ("docs/operations.md", "TASK"): _HANGING,
    ("docs/operations.md", "task()"): _HANGING,
    ("docs/operations.md", "task"): _HANGING,
    ("docs/operations.md", "MACHINE"): _HANGING,
    ("docs/operations.md", "RUN"): _HANGING,
    (
        "docs/removing.md",
        "aws",
    ): "needs an AWS account; tests/docs/test_removing.py holds its names against the template",
    **{("docs/restoring.md", word): _RESTORING for word in ("aws", "STACK", "of()", "EXPORTS", "RESULTS", "LARGE")},
    **{("docs/restoring.md", word): _RESTORING for word in ("TASKS", "ROLE", "KEY", "IMPORT", "TARGET", "SALT")},
    **{("docs/restoring.md", word): _RESTORING for word in ("export", "DOMAIN", "ISSUER", "GATEWAYS")},
    ("docs/restoring.md", "stepwire"): "needs an AWS account; tests/integration/test_another_region.py runs it locally",
    ("docs/restoring.md", "curl"): "needs a deployed endpoint and its domain",
    ("docs/restoring.md", "dig"): "needs a deployed endpoint and its domain",
    ("docs/removing.md", "sam"): "needs an AWS account",
    ("docs/sign_in.md", "export"): "needs a terminal; tests/sign_in/ signs in as two people",
    (
        "docs/sign_in.md",
        ".venv/bin/stepwire",
    ): "needs a terminal; packages/command/tests/test_signing.py signs in by the browser",
    ("docs/sign_in.md", "aws"): "needs a user pool, and an AWS CLI newer than the pinned botocore",
    (
        "docs/wrapping.md",
        "stepwire",
    ): "needs an AWS account; packages/command/tests/wrap/test_command_line.py runs it locally",
    ("docs/sam_local.md", "sam"): "needs Docker; tests/integration/test_sam_local.py drives the SAM CLI's own code",
    **shown_by_extras("command"),
}
_TARGETS: Final = frozenset(
    re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
)
_MAKE: Final = re.compile(r"^make((?: [a-z][a-z0-9-]*)+)")
_MODULE: Final = re.compile(r"^(?:AWS_DEFAULT_REGION=\S+ )?(?:\.venv/bin/)?python -m ([\w.]+)")


@cache
def shown() -> list[tuple[str, str]]:
    """Return each command of a block, with its page."""
    return [(page(path).name, command) for path in PAGES for command in page(path).commands]


def in_lines() -> list[tuple[str, str]]:
    """Return each inline command, with its page."""
    words = [(page(path).name, word) for path in PAGES for word in page(path).words]
    return [(name, word) for name, word in words if _MAKE.match(word) or _MODULE.match(word)]


def first_word(command: str) -> str:
    """Return the first word of a command: a program, a function, or the variable that it sets."""
    word = command.split(maxsplit=1)[0]
    return word if word.startswith("--") else word.partition("=")[0]


def fault_of(name: str, command: str) -> str | None:
    """Return what is wrong with a command; None if it is known to work or has a reason."""
    if name in RUN_BY or (name, first_word(command)) in RUN_AS_SHOWN.keys() | UNTESTABLE:
        return None
    if found := _MAKE.match(command):
        missing = [target for target in found[1].split() if target not in _TARGETS]
        return f"make has no target {missing}" if missing else None
    if found := _MODULE.match(command):
        return None if importlib.util.find_spec(found[1]) else f"there is no module {found[1]}"
    return "run it in a test, or list it in UNTESTABLE with the reason"


def test_every_command_is_tested_or_exists_or_has_a_reason() -> None:
    commands = [*shown(), *in_lines()]

    assert [(name, command, fault) for name, command in commands if (fault := fault_of(name, command))] == []
    assert len(commands) > 100


def test_every_reason_is_for_a_command_that_still_exists() -> None:
    there = {(name, first_word(command)) for name, command in shown()}

    assert (UNTESTABLE.keys() | RUN_AS_SHOWN) - there == set()
    assert [test for test in RUN_AS_SHOWN.values() if not (ROOT / test).exists()] == []
    assert [name for name, test in RUN_BY.items() if not (ROOT / name).exists() or not (ROOT / test).exists()] == []


def test_the_parameters_that_commands_set_are_those_of_the_template() -> None:
    has_examples = (ROOT / "examples").is_dir()
    texts = [one for _, one in shown() if "--parameter-overrides" in one and (has_examples or "examples/" not in one)]

    named = {word for text in texts for word in re.findall(r"(?<![\w-])([A-Z][A-Za-z]+)=", text.replace("CONFIG=", ""))}

    assert named
    beside = [*ROOT.glob("examples/extras/*/*.yaml"), ROOT / "docs/assets/copies_from_here.yaml"]
    declared = {name for one in beside if one.exists() for name in read(one)["Parameters"]}
    assert named - {"ARGS", "CONFIG"} <= template()["Parameters"].keys() | declared


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        ("make demo ARGS=--yes", None),
        ("make nonsense", "make has no target ['nonsense']"),
        ("make check nonsense", "make has no target ['nonsense']"),
        ("python -m benchmarks.cost --update", None),
        ("python -m benchmarks.nonsense", "there is no module benchmarks.nonsense"),
        ("rm -rf /", "run it in a test, or list it in UNTESTABLE with the reason"),
    ],
)
def test_the_checker_finds_unknown_commands(command: str, fault: str | None) -> None:
    assert fault_of("README.md", command) == fault
