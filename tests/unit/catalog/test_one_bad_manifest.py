"""H1: whatever one manifest raises, at whatever step, the others are compiled, and its predecessor serves."""

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import pytest
from msgspec.structs import replace

from stepwire.catalog.tools import Tool
from stepwire.manifests.manifest import Manifest
from stepwire.manifests.published import Compiled, Endpoint, Registered
from stepwire.manifests.reading import main, read_manifest
from stepwire.manifests.registration import Compiler, Examined
from stepwire_cli.app import run
from tests.unit.catalog.registrations import GOOD, PREFIX, Machines, compiled, reason, registered

PILLS: Final[dict[str, tuple[str, str]]] = {
    "a list for a type": (
        json.dumps({**GOOD, "output": {"content": [{"type": ["text"]}]}}),
        "output: at content.0.type",
    ),
    "a number in base 60": ("title: " + "59:" * 180 + "59.5", "a number is too large"),
}
"""Manifests that once ended the whole run."""


class Panic(BaseException):
    """What a library in Rust raises when it panics."""


FAULTS: Final = (KeyError("x"), RecursionError(), MemoryError(), Panic())


@dataclass(frozen=True)
class Throwing:
    """A manifest that raises when one of its members is read."""

    manifest: Manifest
    member: str
    fault: BaseException

    def __getattr__(self, name: str) -> Any:
        if name == self.member:
            raise self.fault
        return getattr(self.manifest, name)


@dataclass(frozen=True)
class Odd:
    """A manifest whose tool has a member that no manifest's has."""

    manifest: Manifest
    member: dict[str, Any]

    def tool(self) -> Tool:
        return replace(self.manifest.tool(), **self.member)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.manifest, name)


@dataclass
class ThrowingMachines(Machines):
    """State machines of which one question raises, if it is about the state machine `Bad`."""

    step: str = ""
    fault: BaseException = FAULTS[0]

    def tags_of(self, arn: str, role: str, *, serves: bool) -> dict[str, str]:
        self._raise("tags", arn)
        return super().tags_of(arn.replace(":Bad", ":Settle"), role, serves=serves)

    def examine(self, arn: str, role: str) -> Examined:
        self._raise("examine", arn)
        return super().examine(arn.replace(":Bad", ":Settle"), role)

    def _raise(self, step: str, arn: str) -> None:
        if step == self.step and arn.endswith(":Bad"):
            raise self.fault


def with_one_that_raises(step: str, fault: BaseException, previous: Compiled) -> Compiled:
    def read(text: str, extras: Collection[str]) -> Manifest:
        manifest = read_manifest(text, extras)
        if manifest.name != "bad":
            return manifest
        if step == "read":
            raise fault
        return cast(Manifest, Throwing(manifest, step, fault))

    compiler = Compiler(Endpoint("mine", PREFIX, True), ThrowingMachines(step=step, fault=fault), False, read=read)
    return compiler.compile([bad(), registered(tool="fine", name="fine")], previous.tools)


def bad(**more: Any) -> Registered:
    return registered(tool="bad", name="bad", state_machine="Bad", **more)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
@pytest.mark.parametrize("step", ["read", "name", "scopes", "tool", "tags", "examine"])
def test_whatever_a_step_of_one_manifest_raises_the_others_are_served(step: str, fault: BaseException) -> None:
    before = compiled(bad(title="The last good one"), machines=ThrowingMachines())

    first, after = (with_one_that_raises(step, fault, earlier) for earlier in (Compiled({}), before))

    assert set(first.tools) == {"fine"}
    assert type(fault).__name__ in reason(first)
    assert "tell the endpoint's operator" in reason(first)
    assert after.tools["bad"] == before.tools["bad"]
    assert after.refusals[0].serves_previous


@pytest.mark.parametrize("member", [{"title": "\ud800"}, {"ttl": float("nan")}, {"ttl": "long"}])
def test_what_function_mcp_could_not_read_is_not_published(member: dict[str, Any]) -> None:
    def read(text: str, extras: Collection[str]) -> Manifest:
        manifest = read_manifest(text, extras)
        return cast(Manifest, Odd(manifest, member)) if manifest.name == "bad" else manifest

    compiler = Compiler(Endpoint("mine", PREFIX, True), ThrowingMachines(), False, read=read)
    found = compiler.compile([bad(), registered(tool="fine", name="fine")], {})

    assert set(found.tools) == {"fine"}
    assert [one.tool for one in found.refusals] == ["bad"]


@pytest.mark.parametrize("pill", PILLS)
def test_a_manifest_of_few_bytes_disables_its_own_tool_alone(pill: str) -> None:
    text, words = PILLS[pill]

    found = compiled(registered(text), registered(tool="fine", name="fine"))

    assert set(found.tools) == {"fine"}
    assert words in reason(found)


def checked_by_make(folder: Path) -> int:
    return main([str(folder)])


def checked_by_doctor(folder: Path) -> int:
    return run(["doctor", str(folder)])


@pytest.mark.parametrize("pill", PILLS)
@pytest.mark.parametrize("check", [checked_by_make, checked_by_doctor])
def test_the_checks_of_a_folder_name_the_file(
    check: Callable[[Path], int], pill: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pill.yaml").write_text(PILLS[pill][0], encoding="utf-8")
    (tmp_path / "fine.yaml").write_text(json.dumps({**GOOD, "name": "fine"}), encoding="utf-8")

    assert check(tmp_path) == 1

    told = "".join(capsys.readouterr())
    assert f"{tmp_path / 'pill.yaml'}: " in told
    assert "Traceback" not in told
    assert "a fault of stepwire" not in told


def test_a_mesh_of_references_that_no_validator_gets_through_is_refused() -> None:
    """900 bytes: with a default, function catalog did not come back; without one, each call of the tool did not."""
    mesh = {str(n): {"allOf": [{"$ref": f"#/$defs/{(7 * n + k) % 10}"} for k in range(4)]} for n in range(10)}
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/0"}}, "$defs": mesh}

    found = compiled(registered(input_schema=schema))

    assert "leads back to itself for the same value" in reason(found)
