"""Each extra is the owner's to delete: without it, or without any, the project is whole and its checks pass.

`make test` looks for modules that name an extra; with ALL=1, each extra is deleted in turn, and all of them at once.
"""

from pathlib import Path
from typing import Final

import pytest

from stepwire.composition import EXTRAS
from tests.template.copies import PYTHON, ROOT, collect_all_tests, copy_of_the_checkout, run, run_tests
from tests.template.extras import GENERATED, mentions, paths_of, remove

QUICK: Final = ("tests/docs", "tests/template", "tests/fundamentals")
"""The tests that read the whole checkout, and the tutorial: ten seconds."""
KIT: Final = ("layers", "functions")


DELETED: Final = (
    *([pytest.param(tuple(EXTRAS), id="all", marks=pytest.mark.long)] if len(EXTRAS) > 1 else []),
    *(pytest.param((name,), id=name, marks=pytest.mark.long) for name in EXTRAS),
)


@pytest.mark.parametrize("name", EXTRAS)
def test_no_module_outside_of_an_extra_names_it(name: str) -> None:
    own = list(paths_of(ROOT, name))

    lines = mentions(ROOT, name, ".py")

    assert own
    assert [one for one in lines if not any((ROOT / one.partition(":")[0]).is_relative_to(path) for path in own)] == []


@pytest.fixture(scope="module", params=DELETED)
def deleted(request: pytest.FixtureRequest) -> tuple[str, ...]:
    return request.param


@pytest.fixture(scope="module")
def copy(deleted: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout without these extras, whose generated pages have been written again."""
    made = copy_of_the_checkout(tmp_path_factory.mktemp("copy") / "project")
    for name in deleted:
        remove(made, name)
    for command in GENERATED:
        run(made, PYTHON, *command)
    return made


def test_no_line_of_the_rest_names_it(deleted: tuple[str, ...], copy: Path) -> None:
    assert [line for name in deleted for line in mentions(copy, name)] == []


def test_style_imports_and_types_of_the_kit_are_right(copy: Path) -> None:
    run(copy, ".venv/bin/ruff", "check", "--no-cache", ".")
    run(copy, ".venv/bin/lint-imports", "--no-logo", "--no-cache")
    run(copy, ".venv/bin/pyright", *KIT)


def test_the_templates_are_right(copy: Path) -> None:
    run(copy, PYTHON, "-m", "tests.template.manifests", "stack.yaml")
    run(copy, ".venv/bin/cfn-lint", "stack.yaml")


def test_the_quick_tests_of_the_rest_pass(copy: Path) -> None:
    run_tests(copy, *QUICK)


def test_every_test_of_the_rest_is_collected(copy: Path) -> None:
    collect_all_tests(copy)
