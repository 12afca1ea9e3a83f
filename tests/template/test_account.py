"""`make deploy` says what it lacks of an account before it builds."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from layers.account import main
from tests.template.document import ROOT
from tests.waiting import HANG_GUARD

NO_REGION: Final = "No AWS Region is set."
NO_CREDENTIALS: Final = "No AWS credentials were found."
KEYS: Final = {"AWS_ACCESS_KEY_ID": "an id", "AWS_SECRET_ACCESS_KEY": "a secret"}
REGION: Final = {"AWS_DEFAULT_REGION": "eu-central-1"}


def alone(home: Path) -> dict[str, str]:
    """Return the variables of a user who has no settings of AWS."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "AWS_EC2_METADATA_DISABLED": "true"}


def checked(home: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the check as `make deploy` does, for a user who has no other settings of AWS."""
    command = [sys.executable, ROOT / "layers/account.py", *arguments]
    env = alone(home) | variables
    return subprocess.run(command, cwd=home, env=env, capture_output=True, text=True, timeout=HANG_GUARD, check=False)


@pytest.mark.parametrize(
    ("variables", "arguments", "missing"),
    [
        ({}, [], [NO_REGION, NO_CREDENTIALS]),
        (KEYS, [], [NO_REGION]),
        (KEYS | REGION, [], []),
        (KEYS, ["--region", "eu-central-1", "--parameter-overrides", "Authorizer=none Alarms=all"], []),
        (REGION, ["--profile", "nobody"], ["The config profile (nobody) could not be found"]),
    ],
)
def test_what_a_deployment_lacks_is_said_before_the_build(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    variables: dict[str, str],
    arguments: list[str],
    missing: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", alone(tmp_path) | variables)

    code = main(["dev", *arguments])

    assert code == (1 if missing else 0)
    lines = capsys.readouterr().err.splitlines()
    assert [line.startswith(words) for line, words in zip(lines, missing, strict=True)] == [True] * len(missing)


def test_a_region_and_a_profile_of_samconfig_are_used(tmp_path: Path) -> None:
    (tmp_path / "samconfig.toml").write_text('version = 0.1\n[prod.deploy.parameters]\nregion = "eu-central-1"\n')

    assert checked(tmp_path, "prod", **KEYS).returncode == 0
    assert checked(tmp_path, "dev", **KEYS).returncode == 1


def test_the_check_comes_before_the_build() -> None:
    planned = subprocess.run(
        ["make", "--dry-run", "deploy"], cwd=ROOT, capture_output=True, text=True, timeout=HANG_GUARD, check=True
    ).stdout

    assert 0 < planned.index("layers/account.py") < planned.index("sam build")
