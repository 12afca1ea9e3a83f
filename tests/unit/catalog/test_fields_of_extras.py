"""Extras add fields to a manifest: where one is off, its fields are unknown, and no tool that has them is served."""

from itertools import combinations
from typing import Any, Final

import pytest
from msgspec.structs import replace

from stepwire.aws.settings import SettingsError, check_extras
from stepwire.catalog.tools import CompiledTool
from stepwire.composition import EXTRAS
from stepwire.errors import CatalogError
from stepwire.json_text import write
from stepwire.manifests.manifest import Manifest
from stepwire.manifests.model import added_by, manifest_model
from stepwire.manifests.published import Compiled, Endpoint, ToolFile
from stepwire.manifests.reading import read_manifest
from stepwire.manifests.registration import Compiler
from tests.kits import OPTIONAL, catalog_of, keeping
from tests.unit.catalog.registrations import GOOD, PREFIX, Machines, reason, registered

MODELS: Final = {name: part.model for name, part in added_by(EXTRAS).items() if part.model is not None}
"""Of the extras that add fields."""
GIVEN: Final[dict[str, Any]] = {
    "cards": {"card": False},
    "approvals": {"approvers": {"scope": "refunds"}},
    "lines": {"concurrency": {"most": 1}},
}
"""A field of each extra that adds some, whose value leaves a part in the tool."""


def names_of(model: type[Manifest]) -> set[str]:
    return {name for name in vars(model) if name.startswith("check_")} | set(model.model_fields)


def test_no_extra_replaces_a_field_or_a_check_of_the_core_or_of_another() -> None:
    core = names_of(Manifest)

    own = {name: names_of(model) - set(Manifest.model_fields) for name, model in MODELS.items()}

    assert all(not names & core for names in own.values())
    assert all(not own[one] & own[other] for one, other in combinations(own, 2))


def test_the_core_alone_has_no_field_of_an_extra() -> None:
    assert manifest_model(()).model_fields.keys() == Manifest.model_fields.keys()
    assert manifest_model().model_fields.keys() > Manifest.model_fields.keys()


@pytest.mark.parametrize("name", MODELS)
def test_what_a_field_of_an_extra_says_is_kept_in_its_part_of_the_tool(name: str) -> None:
    tool = read_manifest(write({**GOOD, **GIVEN[name]})).tool()

    assert tool.extras.keys() == {name}
    assert read_manifest(write(GOOD)).tool().extras == {}


@pytest.mark.parametrize("name", MODELS)
def test_a_field_of_an_extra_that_is_off_is_a_fault_that_says_so(name: str) -> None:
    (field,) = GIVEN[name]

    with pytest.raises(CatalogError) as fault:
        read_manifest(write({**GOOD, **GIVEN[name]}), EXTRAS.keys() - {name})

    assert (
        str(fault.value) == f"{field}: is a field of the extra {name}, which this endpoint does not have: leave it out"
    )


def compiled_with(extras: tuple[str, ...], previous: Compiled | None = None) -> Compiled:
    compiler = Compiler(Endpoint("mine", PREFIX, True), Machines(), recheck=False, extras=extras)
    return compiler.compile([registered(card=False)], previous.tools if previous else {})


def test_a_tool_is_compiled_anew_when_other_extras_are_on() -> None:
    before = compiled_with(("cards",))

    after = compiled_with((), before)
    again = compiled_with(("cards", "skills"), before)

    assert not before.refusals
    assert "the extra cards" in reason(after)
    assert again.tools["settle"].digest != before.tools["settle"].digest


def test_a_release_with_fields_of_an_extra_that_is_off_does_not_start() -> None:
    limited = keeping(replace(OPTIONAL, name="one"), lines=CompiledTool(OPTIONAL, ""))

    check_extras(("lines",), catalog_of(limited))
    with pytest.raises(SettingsError, match=r"fields of extras that are off: one \(lines\)\. Switch"):
        check_extras(("cards",), catalog_of(limited, OPTIONAL))


def test_files_beside_a_manifest_that_no_extra_takes_are_refused_once_for_each_tool() -> None:
    paths = (("settle", "b/x.md"), ("settle", "a/x.md"), ("ship", "a/x.md"))
    files = [ToolFile(tool, path, f"/tools/{tool}/{path}", "x") for tool, path in paths]

    found = Compiler(Endpoint("mine", PREFIX, True), Machines(), False, extras=()).with_files(Compiled({}), files)

    assert [(one.tool, one.source, one.what) for one in found.refusals] == [
        ("settle", "/tools/settle/a/x.md", "file"),
        ("ship", "/tools/ship/a/x.md", "file"),
    ]
    assert all(one.reason.startswith("no extra of this endpoint takes files") for one in found.refusals)
    assert found.files == {}
