"""What the documents say about the code is true: the index, the decisions, the manifests, the errors, the glossary."""

import re
from pathlib import Path
from typing import Final

import pytest

from stepwire.manifests.reading import main as check_manifests
from tests.docs.pages import ROOT, page
from tests.docs.promised import protocol_errors

DECISIONS: Final = ROOT / "docs" / "decisions"
OF_THE_SITE: Final = {
    path.relative_to(ROOT / "docs").as_posix()
    for name in ("*.md", "extras/*.md")
    for path in (ROOT / "docs").glob(name)
}
_STATUS: Final = re.compile(r"accepted|(?:changed|superseded) by \[(\d+)\]\((\d{4}-[\w-]+\.md)\)")


def test_the_readme_is_short() -> None:
    assert len(page(ROOT / "README.md").text.split()) < 1_300  # words: a sentence has a line of its own


@pytest.mark.parametrize(
    "changelog", [ROOT / "CHANGELOG.md", *sorted(ROOT.glob("packages/*/CHANGELOG.md"))], ids=lambda one: one.parent.name
)
def test_a_changelog_says_each_thing_once(changelog: Path) -> None:
    entries = re.findall(r"^- .{0,50}", changelog.read_text(encoding="utf-8"), re.MULTILINE)

    assert [one for one in sorted(set(entries)) if entries.count(one) > 1] == []


def test_the_index_names_every_page() -> None:
    assert OF_THE_SITE - {"README.md"} - set(page(ROOT / "docs" / "README.md").links) == set()


def test_the_site_has_every_page_in_its_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]

    assert OF_THE_SITE - set(re.findall(r"[\w/]+\.md", navigation)) == set()


def rows() -> list[tuple[str, str]]:
    """Return the file and the status of each decision in the index."""
    text = page(DECISIONS / "README.md").text
    return re.findall(r"^\| \[[^\]]+\]\((\d{4}-[\w-]+\.md)\) \| ([^|]+) \|", text, re.MULTILINE)


def test_the_index_of_decisions_names_every_record_once_in_order() -> None:
    assert [record for record, _ in rows()] == [path.name for path in sorted(DECISIONS.glob("[0-9]*.md"))]


@pytest.mark.parametrize(("record", "status"), rows())
def test_a_decision_has_a_status_and_a_later_record_that_changed_it(record: str, status: str) -> None:
    found = _STATUS.fullmatch(status)

    assert found, status
    if found[2]:
        assert (DECISIONS / found[2]).exists()
        assert found[2] > record
        assert int(found[1]) == int(found[2][:4])


@pytest.mark.parametrize("name", ["README.md", "docs/tools.md"])
def test_the_manifest_in_a_document_is_valid(name: str, tmp_path: Path) -> None:
    manifest, *fields = page(ROOT / name).blocks("yaml")
    smallest = "name: a\ndescription: A.\nstate_machine: A\ninput_schema: {type: object}\n"
    (tmp_path / "settle_invoices.yaml").write_text(manifest, encoding="utf-8")
    for number, lines in enumerate(fields):
        (tmp_path / f"{number}.yaml").write_text(smallest.replace("name: a", f"name: a{number}") + lines)

    assert check_manifests([str(tmp_path)]) == 0


def test_the_example_of_a_manifest_shows_every_field_that_is_described() -> None:
    (example, *_) = page(ROOT / "docs" / "tools.md").blocks("yaml")
    of_extras = "".join(block for one in ROOT.glob("docs/extras/*.md") for block in page(one).blocks("yaml"))

    shown, also = (set(re.findall(r"^(\w+):", text, re.MULTILINE)) for text in (example, of_extras))

    described = set(re.findall(r"^\| `(\w+)` \|", page(ROOT / "docs" / "manifest.md").text, re.MULTILINE))
    assert shown <= described <= shown | also


def test_every_error_of_the_protocol_is_in_the_table_of_troubleshooting() -> None:
    rows = re.findall(
        r"^\| (-\d+)(?:, (\d+))? \| `(\w+)` \|", page(ROOT / "docs/troubleshooting.md").text, re.MULTILINE
    )
    abstract = {"ProtocolError", "InvalidRequest", "InvalidParams", "AccessDenied", "UnclearId", "WorkflowError"}
    kinds = protocol_errors()

    assert {name for _, _, name in rows} == kinds.keys() - abstract
    for code, status, name in rows:
        kind = kinds[name]
        assert kind.code == int(code), name
        assert not status or kind.status == int(status), name


def test_the_glossary_is_sorted_and_has_no_duplicates() -> None:
    text = page(ROOT / "docs" / "glossary.md").text
    words = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", text, re.MULTILINE)[1:]

    assert words == sorted(set(words), key=str.lower)
    assert len(words) > 40


def test_the_log_messages_that_the_documents_name_are_written() -> None:
    texts = [page(path).text for path in sorted((ROOT / "docs").glob("*.md"))]
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "layers/stepwire").rglob("*.py"))
    parts = [part for text in texts for part in re.findall(r"message (?:=|in) (\[[^\]]+\]|\"[^\"]+\")", text)]

    named = {name for part in parts for name in re.findall(r'"([^"]+)"', part)}

    assert len(named) >= 3
    assert [name for name in named if f'"{name}"' not in code] == []


def test_the_site_has_the_consoles_logo() -> None:
    logo = ROOT / "docs" / "assets" / "icon.svg"

    assert logo.read_bytes() == (ROOT / "packages/local/stepwire_local/console/static/icon.svg").read_bytes()
    settings = (ROOT / "mkdocs.yml").read_text()
    assert all(f"\n  {name}: assets/icon.svg" in settings for name in ("logo", "favicon"))
