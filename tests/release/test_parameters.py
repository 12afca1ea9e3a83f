"""`stepwire deploy --parameters`: the core's on a screen, an extra's with the extra, one by its name."""

import json
from pathlib import Path
from typing import Any

import pytest

from stepwire_cli.app import run
from stepwire_cli.deployment.checkout import release_of_checkout
from stepwire_cli.deployment.parameters import parameters_of, screen_of_the_core
from stepwire_cli.deployment.parts import CORE, FOLDER, extras_of, part_of, written
from stepwire_cli.deployment.release import Cost, Extra, Release
from stepwire_cli.exits import Exit
from tests.docs.pages import ROOT
from tests.release.test_artifact import made
from tests.template.document import template


def listed(tmp_path: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """List parameters of a small release."""
    code = run(["deploy", "--parameters", *words, "--release", str(made(tmp_path).file)])
    out, err = capsys.readouterr()
    return code, out, err


def settings(path: Path, **more: Any) -> str:
    """Return what a template has about parameters, and no resources of its own."""
    found = part_of(path.read_text(encoding="utf-8"), str(path))
    return written({name: found[name] for name in ("Metadata", "Parameters") if name in found} | more)


def test_those_of_the_core_fit_on_one_screen_and_are_all_there() -> None:
    paths = {str(path.relative_to(ROOT / FOLDER)): path for path in sorted((ROOT / FOLDER).glob("*/*.yaml"))}
    extras = {name: Extra("It does something.", Cost(0.0)) for name in extras_of(ROOT)}
    texts = {name: settings(path) for name, path in paths.items()}
    core = settings(ROOT / CORE, Resources={"Table": {"Type": "AWS::DynamoDB::Table"}})
    release = Release("1.0.0", core, {}, Cost(0.0), "1.0.0", (), "", texts, extras)

    found = parameters_of(release)
    lines = [*screen_of_the_core(found)]

    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert {one.name for one in found} == set(template()["Parameters"])
    assert [one.name for one in found if not one.extra and one.setting not in " ".join(lines)] == []


def test_a_screen_has_the_core_s_with_their_defaults_and_names_the_extras_that_have_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = listed(tmp_path, capsys)

    assert code == Exit.DONE
    assert out == (
        "Others:\n  Alarms=on\nMore with the extras:\n  colour\n"
        "Explained: stepwire deploy --parameters NAME, of a parameter or an extra.\n"
    )


@pytest.mark.parametrize(
    ("word", "lines"),
    [
        ("colour", ["colour: Colours.", "Colour=red", "    Of what."]),
        ("alarms", ["Alarms=on", "    Whether there are alarms."]),
        ("taste", ["taste: Tastes.", "It has no parameters."]),
    ],
)
def test_a_parameter_or_those_of_an_extra_are_explained(
    word: str, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = listed(tmp_path, capsys, word)

    assert (code, out.splitlines()) == (Exit.DONE, lines)


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("colours", "Did you mean colour?"),
        ("ALARM", "Did you mean Alarms?"),
        ("nosuch", "`stepwire deploy --parameters` lists those there are."),
    ],
)
def test_a_name_that_nothing_has_is_said_with_the_nearest(
    word: str, hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = listed(tmp_path, capsys, word)

    assert (code, out) == (Exit.USAGE, "")
    assert err == f"error: Version 1.2.0 has no parameter and no extra {word}. {hint}\n"


def test_a_checkout_without_a_release_lists_those_of_its_templates() -> None:
    release = release_of_checkout(ROOT)

    assert release is not None
    assert {one.name for one in parameters_of(release)} == set(template()["Parameters"])
    assert all(one.description for one in release.extras.values())


def test_a_folder_without_the_templates_is_no_checkout(tmp_path: Path) -> None:
    (tmp_path / CORE).write_text("Resources: {}", encoding="utf-8")

    assert release_of_checkout(tmp_path) is None


def test_programs_get_all_of_them_with_their_extras(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["--json", "deploy", "--parameters", "--release", str(made(tmp_path).file)])

    found = json.loads(capsys.readouterr().out)
    assert [(one["name"], one["extra"], one["default"]) for one in found] == [
        ("Alarms", None, "on"),
        ("Colour", "colour", "red"),
    ]
