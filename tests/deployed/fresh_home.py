"""What a person does who has an empty home and no clone: install, deploy, wrap a state machine, call it.

    python -m tests.deployed.fresh_home    # after `make release`; writes the transcript into docs/e2e.md

The wheels are those that `make release` has left in dist/, taken from a folder as from an index; what they need comes
from the package index. The rule: each step is a command in that home, with the time that it took. AWS is emulated, so
the release is the same one without what the emulator cannot serve, and with libraries for this machine.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent
from time import perf_counter
from typing import Any, Final

import yaml

from benchmarks.page import machine
from tests.deployed.emulator import ROOT, Emulator
from tests.deployed.stack import aws, build, compile_what_is_registered, look_at, release_for_the_emulator

BUILT: Final = ROOT / ".aws-sam/e2e"
DIST: Final = ROOT / "dist"
UV: Final = Path(sys.executable).with_name("uv")
NAME: Final = "fresh"
MACHINE: Final = "SettleInvoices"
OF_THE_MACHINE: Final = re.compile(r"(UV|PIP|SSL|REQUESTS)_\w*(INDEX|CERT|NATIVE_TLS)\w*|\w+_proxy", re.IGNORECASE)
"""Variables by which this machine reaches the package index; of ours, the home has these and PATH alone."""
HELPS: Final = 5
"""How often `stepwire --help` is timed; the least counts, because other work on a machine only makes it slower."""
PAGE: Final = ROOT / "docs/e2e.md"
_PART: Final = re.compile(r"(<!-- fresh home[^\n]*-->\n).*?(<!-- end of fresh home -->)", re.DOTALL)
_DEFINITION: Final = {
    "QueryLanguage": "JSONata",
    "StartAt": "Settle",
    "States": {
        "Settle": {
            "Type": "Pass",
            "Output": {"settled": "{% $states.input.customer %}"},
            "End": True,
        }
    },
}
_CLIENT: Final = """\
import asyncio, sys
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client

async def main(url, host):
    async with streamablehttp_client(url, headers={"host": host}) as (read, write, _):
        async with ClientSession(read, write) as session:
            await session.initialize()
            print([tool.name for tool in (await session.list_tools()).tools])
            result = await session.call_tool(sys.argv[3], {"customer": "17"})
            print(result.structuredContent or result.content[0].text)

asyncio.run(main(*sys.argv[1:3]))
"""


@dataclass
class Home:
    """An empty home, with the wheels beside it."""

    folder: Path
    environment: Mapping[str, str]
    steps: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])

    def run(self, shown: str, *command: str | Path, runs: int = 1) -> str:
        """Run a command, record what it is shown as with the least time of its runs, and return its output.

        Raises:
            AssertionError: it failed.
        """
        times, said = list[float](), ""
        for _ in range(runs):
            began = perf_counter()
            ended = subprocess.run(
                list(map(str, command)),
                cwd=self.folder,
                env={"HOME": str(self.folder), **self.environment},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=600,
            )
            times.append(perf_counter() - began)
            assert ended.returncode == 0, f"{shown}: {ended.stdout}{ended.stderr}"
            said = ended.stdout
        self.steps.append((shown, min(times)))
        return said


def lived(folder: Path) -> Home:
    """Take all steps in a new folder, and return the home with what they took."""
    wheels = folder / "wheels"
    wheels.mkdir(parents=True)
    for wheel in DIST.glob("*.whl"):
        shutil.copy(wheel, wheels)
    release = _release(folder)
    (folder / "call.py").write_text(_CLIENT, encoding="utf-8")
    index = ("--find-links", wheels)
    with Emulator(folder) as emulator:
        ours = {name: value for name, value in os.environ.items() if OF_THE_MACHINE.fullmatch(name)}
        home = Home(folder, {"PATH": os.environ["PATH"], **ours, **emulator.credentials})
        _installed(home, index)
        bin_ = home.folder / "venv/bin"
        home.run("stepwire --help", bin_ / "stepwire", "--help", runs=HELPS)
        url = f"{emulator.url}/mcp"
        chosen = ("Authorizer=none", "DeletionProtection=false", f"EndpointUrl={url}")
        shown = f"stepwire deploy {NAME} Authorizer=none DeletionProtection=false --yes"
        home.run(shown, bin_ / "stepwire", "deploy", NAME, *chosen, "--yes", "--release", release)
        stack = look_at(NAME, emulator.credentials)
        _machine(emulator)
        home.run(
            f"stepwire wrap {MACHINE} --endpoint {NAME} --apply --yes",
            *(bin_ / "stepwire", "wrap", MACHINE, "--endpoint", NAME, "--apply", "--yes"),
        )
        compile_what_is_registered(stack, emulator.credentials)
        host = emulator.host_of(stack.named("Api"))
        tool = _tool(home.folder)
        said = home.run(
            "uv run --with 'mcp<2' python call.py",
            UV,
            "run",
            "--no-project",
            "--with",
            "mcp<2",
            "call.py",
            url,
            host,
            tool,
        )
        assert "17" in said, said
        home.run(
            f"stepwire destroy {NAME} --with-data --yes", bin_ / "stepwire", "destroy", NAME, "--with-data", "--yes"
        )
    return home


def _installed(home: Home, index: tuple[str | Path, ...]) -> None:
    pip = home.folder / "venv/bin/pip"
    home.run("uvx stepwire --version", UV, "tool", "run", *index, "stepwire", "--version")
    home.run("uvx stepwire --version, again", UV, "tool", "run", *index, "stepwire", "--version")
    home.run("python -m venv venv", sys.executable, "-m", "venv", "venv")
    home.run("pip install stepwire-client", pip, "install", "--quiet", *index, "stepwire-client")
    home.run("pip install 'stepwire[javascript]'", pip, "install", "--quiet", *index, "stepwire[javascript]")
    home.run("pip install stepwire-local", pip, "install", "--quiet", *index, "stepwire-local")
    home.run("pip install pipx", pip, "install", "--quiet", "pipx")
    links = f"--pip-args=--find-links {index[1]}"
    home.run("pipx install stepwire", home.folder / "venv/bin/pipx", "install", "--quiet", links, "stepwire")
    home.run("stepwire-local --help", home.folder / "venv/bin/stepwire-local", "--help")


def _release(folder: Path) -> Path:
    """Return the release of this commit, as far as the emulator serves it, with libraries for this machine."""
    return release_for_the_emulator(build(ROOT, BUILT, platform="host"), folder)


def _machine(emulator: Emulator) -> None:
    """Make a state machine that knows nothing of Stepwire, and run it once."""
    workflows = aws("stepfunctions", emulator.credentials)
    trusted = {"Effect": "Allow", "Principal": {"Service": "states.amazonaws.com"}, "Action": "sts:AssumeRole"}
    role = aws("iam", emulator.credentials).create_role(
        RoleName="owner", AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trusted]})
    )
    made = workflows.create_state_machine(name=MACHINE, definition=json.dumps(_DEFINITION), roleArn=role["Role"]["Arn"])
    workflows.start_execution(stateMachineArn=made["stateMachineArn"], input='{"customer": "16"}')


def _tool(folder: Path) -> str:
    (manifest,) = (folder / "tools").glob("*.yaml")
    described: dict[str, Any] = yaml.safe_load(manifest.read_text(encoding="utf-8"))
    return described["name"]


def transcript(home: Home) -> str:
    """Return the steps as a table in Markdown."""
    rows = [f"| `{shown}` | {seconds:.1f} s |" for shown, seconds in home.steps]
    return "\n".join([f"{machine()}.", "", "| in an empty home | took |", "|---|---|", *rows, ""])


def main() -> int:
    """Take the steps, and write what they took into docs/e2e.md."""
    with TemporaryDirectory() as folder:
        found = transcript(lived(Path(folder) / "home"))
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_PART.sub(lambda part: f"{part[1]}{found}{part[2]}", text), encoding="utf-8")
    sys.stdout.write(dedent(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
