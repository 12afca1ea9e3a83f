"""Extras add fields to a manifest: where one is off, its fields are unknown, and no tool that has them is served."""

import sys
from itertools import combinations
from types import ModuleType
from typing import Final

import pytest
from msgspec import Struct
from msgspec.structs import replace

from stepwire import composition
from stepwire.aws.settings import SettingsError, check_extras
from stepwire.composition import EXTRAS
from stepwire.errors import CatalogError
from stepwire.hooks import Doubt, Extra, ManifestFields
from stepwire.json_text import write
from stepwire.manifests import model
from stepwire.manifests.manifest import Manifest
from stepwire.manifests.model import added_by, manifest_model
from stepwire.manifests.published import Compiled, Endpoint, ToolFile
from stepwire.manifests.reading import read_manifest
from stepwire.manifests.registration import Compiler
from tests.kits import OPTIONAL, catalog_of, keeping
from tests.unit.catalog.registrations import GOOD, PREFIX, Machines, compiled, express, reason, registered

MODELS: Final = {name: part.model for name, part in added_by(EXTRAS).items() if part.model is not None}
"""Of the extras that add fields."""
RED: Final = write({**GOOD, "no_such_field": "red"})


class Coloured(Manifest):
    no_such_field: str | None = None


class Colour(Struct, frozen=True):
    name: str


FIELDS: Final = ManifestFields(
    model=Coloured,
    part=lambda manifest: manifest.no_such_field and Colour(manifest.no_such_field),
    need_task=("no_such_field",),
    other_names={"no_such_name": "no_such_field"},
    doubts=lambda manifest, definitions: [Doubt(f"{manifest.no_such_field} in {len(definitions)}", "paint it")],
)


@pytest.fixture(autouse=True)
def no_such_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add an extra to the table of which nobody has heard, and a field of its."""
    module = ModuleType("stepwire.extras.no_such_extra")
    vars(module)["EXTRA"] = Extra(name="no_such_extra", fields=lambda: FIELDS)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for one in (composition, model):
        monkeypatch.setattr(one, "EXTRAS", {**EXTRAS, "no_such_extra": ()})


def names_of(model: type[Manifest]) -> set[str]:
    return {name for name in vars(model) if name.startswith("check_")} | set(model.model_fields)


def test_no_extra_replaces_a_field_or_a_check_of_the_core_or_of_another() -> None:
    core = names_of(Manifest)

    own = {name: names_of(model) - set(Manifest.model_fields) for name, model in MODELS.items()}

    assert all(not names & core for names in own.values())
    assert all(not own[one] & own[other] for one, other in combinations(own, 2))


def test_the_core_alone_has_no_field_of_an_extra() -> None:
    assert list(manifest_model(()).model_fields) == list(Manifest.model_fields)
    assert list(manifest_model(("no_such_extra",)).model_fields) == [*Manifest.model_fields, "no_such_field"]


def test_what_a_field_of_an_extra_says_is_kept_in_its_part_of_the_tool() -> None:
    manifest = read_manifest(RED, ("no_such_extra",))

    assert manifest.tool().extras == {"no_such_extra": {"name": "red"}}
    assert manifest.tool().kept_by("no_such_extra", Colour) == Colour("red")
    assert [one.words for one in manifest.doubts([{}, {}])] == ["red in 2"]
    assert read_manifest(write(GOOD), ("no_such_extra",)).tool().extras == {}


def test_a_field_of_an_extra_that_is_off_is_a_fault_that_says_so() -> None:
    with pytest.raises(CatalogError) as fault:
        read_manifest(RED, EXTRAS)

    assert str(fault.value) == (
        "no_such_field: is a field of the extra no_such_extra, which this endpoint does not have: leave it out"
    )


def test_what_people_take_for_the_name_of_a_field_leads_to_it() -> None:
    with pytest.raises(CatalogError, match="no_such_name: unknown field; did you mean no_such_field"):
        read_manifest(write({**GOOD, "no_such_name": "red"}), ("no_such_extra",))


def compiled_with(extras: tuple[str, ...], previous: Compiled | None = None) -> Compiled:
    compiler = Compiler(Endpoint("mine", PREFIX, True), Machines(), recheck=False, extras=extras)
    return compiler.compile([registered(RED)], previous.tools if previous else {})


def test_a_tool_is_compiled_anew_when_other_extras_are_on() -> None:
    before = compiled_with(("no_such_extra",))

    after = compiled_with((), before)
    again = compiled_with(("no_such_extra", "nor_this_one"), before)

    assert not before.refusals
    assert "the extra no_such_extra" in reason(after)
    assert again.tools["settle"].digest != before.tools["settle"].digest


def test_a_field_that_needs_a_task_is_refused_of_a_tool_that_has_none() -> None:
    compiler = Compiler(Endpoint("mine", PREFIX, True), express(), recheck=False, extras=("no_such_extra",))

    found = compiler.compile([registered(RED)], {})

    assert "no_such_field: needs a task" in reason(found)
    assert not compiled(registered(), machines=express()).refusals


def test_a_release_with_fields_of_an_extra_that_is_off_does_not_start() -> None:
    red = keeping(replace(OPTIONAL, name="one"), no_such_extra=Colour("red"))

    check_extras(("no_such_extra",), catalog_of(red))
    with pytest.raises(SettingsError, match=r"fields of extras that are off: one \(no_such_extra\)\. Switch"):
        check_extras((), catalog_of(red, OPTIONAL))


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
