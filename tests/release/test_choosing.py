"""The extras of a release, chosen on a command line."""

import json
from pathlib import Path

import pytest
import yaml

from stepwire_cli.app import run
from stepwire_cli.deployment.release import opened
from stepwire_cli.exits import Exit
from tests.release.test_artifact import FILES, made


@pytest.mark.parametrize(
    ("words", "has"),
    [
        ([], {"Paint", "Taste", "Both"}),
        (["--with", "all"], {"Paint", "Taste", "Both"}),
        (["--with", "colour, taste"], {"Paint", "Taste", "Both"}),
        (["--with", "colour"], {"Paint"}),
        (["--with", "none"], set[str]()),
    ],
)
def test_the_template_for_another_tool_has_what_is_chosen(
    words: list[str], has: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release = made(tmp_path).file

    code = run(["deploy", "--template", *words, "--release", str(release)])
    text = capsys.readouterr().out
    run(["--json", "deploy", "--template", *words, "--release", str(release)])
    document = json.loads(capsys.readouterr().out)

    assert code == Exit.DONE
    assert {"Paint", "Taste", "Both"} & yaml.safe_load(text)["Resources"].keys() == has
    assert document == yaml.safe_load(text)


@pytest.mark.parametrize(
    "command", [["deploy", "Alarms=on"], ["upgrade"], ["deploy", "--template"], ["new", "endpoint", "--yes"]]
)
def test_an_extra_that_the_release_has_not_is_named_with_those_it_has(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release = made(tmp_path).file

    code = run(["--region", "eu-central-1", *command, "--with", "smell,taste", "--release", str(release)])

    assert code == Exit.USAGE
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == (
        "error: smell: no such extra; version 1.2.0 has colour, taste. Name those that you want: --with taste"
    )


@pytest.mark.parametrize(("words", "has"), [([], True), (["--with", "taste"], False)])
def test_a_project_of_an_endpoint_has_the_chosen_extras_and_their_code(
    words: list[str], has: bool, tmp_path: Path
) -> None:
    release, project = made(tmp_path / "made").file, tmp_path / "project"

    code = run(["new", "endpoint", "--yes", *words, "--release", str(release), "--output", str(project)])

    resources = yaml.safe_load((project / "template.yaml").read_text())["Resources"]
    assert code == Exit.DONE
    assert "Taste" in resources
    assert ("PaintLayer" in resources) is has
    assert (project / "layers/PaintLayer/python/paint.py").is_file() is has


def test_a_dry_run_without_an_account_shows_the_chosen_extras(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release = made(tmp_path).file
    options = ["--dry-run", "--offline", "--with", "colour", "--release", str(release)]

    code = run(["--region", "eu-central-1", "deploy", *options])

    assert code == Exit.DONE
    assert "colour\ton\tColours.\t2 resources\tnothing more\tnothing\t$0.50\n" in capsys.readouterr().out


def test_a_release_whose_parts_fit_only_together_is_refused_when_they_are_chosen_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Opening looks at the core alone and at the whole, for there are too many choices."""

    part = "Description: Colours.\nResources: {Paint: {Condition: IsRed}}\n"
    taste = "Description: Tastes.\nResources: {Paint: {Type: 'AWS::SQS::Queue'}}\n"
    files = {**FILES, "extras/colour/template.yaml": part, "extras/taste/template.yaml": taste}
    del files["extras/colour/with_taste.yaml"]
    release = made(tmp_path, files).file

    code = run(["deploy", "--template", "--with", "colour", "--release", str(release)])

    assert opened(release).chosen == ("colour", "taste")
    assert code == Exit.USAGE
    assert "error: The parts of the release do not fit together" in capsys.readouterr().err
