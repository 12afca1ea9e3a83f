"""What a code host and a checkout rely on: hooks, the workflow, pins and locks."""

import re
import subprocess
import tomllib
from typing import Any, Final, cast

import pytest
import yaml

from tests.docs.pages import ROOT

MAKEFILE: Final = (ROOT / "Makefile").read_text(encoding="utf-8")
WORKFLOW: Final = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")


def parsed(name: str) -> dict[str, Any]:
    return cast(dict[str, Any], yaml.safe_load((ROOT / name).read_text(encoding="utf-8")))


def hooks() -> list[dict[str, Any]]:
    (local,) = parsed(".pre-commit-config.yaml")["repos"]
    assert local["repo"] == "local", "a hook must not be fetched from elsewhere"
    return local["hooks"]


@pytest.mark.parametrize("hook", hooks(), ids=lambda hook: hook["id"])
def test_a_hook_runs_in_the_environment_of_the_project(hook: dict[str, Any]) -> None:
    assert hook["language"] == "system"
    assert hook["entry"].startswith(".venv/bin/")


@pytest.mark.parametrize("hook", [hook for hook in hooks() if hook["id"] != "docs"], ids=lambda hook: hook["id"])
def test_a_hook_is_a_command_of_make_check(hook: dict[str, Any]) -> None:
    planned = subprocess.run(
        ["make", "--dry-run", "check"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()

    command = hook["entry"].removesuffix(" --force-exclude")

    assert [line for line in planned if line.startswith(command)]


def test_every_action_of_the_workflow_is_pinned_to_a_commit() -> None:
    used = re.findall(r"uses: (\S+)", WORKFLOW)

    assert used
    assert [action for action in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action)] == []


def test_the_workflow_runs_the_ci_script_on_each_python() -> None:
    job = parsed(".github/workflows/ci.yml")["jobs"]["ci"]

    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]
    assert job["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert (ROOT / ".ci/run").stat().st_mode & 0o111


def test_each_group_of_dependencies_agrees_with_its_lock() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups: dict[str, list[str]] = project["dependency-groups"]
    locks = {"dev": [*groups["dev"], *groups["examples"], *project["project"]["dependencies"]]} | {
        name: wanted for name, wanted in groups.items() if name not in ("dev", "examples")
    }

    differing = [
        f"{name}: {pin}"
        for name, wanted in locks.items()
        for pin in (re.sub(r"\[.*?\]", "", one).partition(";")[0].strip() for one in wanted)
        if "==" in pin and f"\n{pin} " not in "\n" + (ROOT / f"requirements/{name}.txt").read_text(encoding="utf-8")
    ]

    assert differing == [], "run `make lock`"


def test_every_environment_of_make_is_set_up_from_a_lock_and_removed_by_clean() -> None:
    made = dict(re.findall(r"^(\.venv[\w-]*)/ready: (\S+)$", MAKEFILE, re.MULTILINE))
    clean = MAKEFILE.partition("\nclean:")[2].partition("\n\n")[0]

    assert "requirements/docs.txt" in made.values()
    assert [lock for lock in made.values() if not (ROOT / lock).exists()] == []
    assert [name for name in made if not re.search(rf"{re.escape(name)}(?!-)\b", clean)] == []
