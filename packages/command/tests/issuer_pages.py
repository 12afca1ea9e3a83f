"""The parts of docs/issuers/ that are output: what each issuer announces, and how hosts are configured.

python -m packages.command.tests.issuer_pages    # writes them anew

They come from `stepwire sign-in`, run against the metadata of real issuers in `issuers/`.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from packages.command.tests.sites import URL, Recorded, recorded
from packages.command.tests.sites import mirror as web_of_mirror
from stepwire_cli.sign_in.clients import configuration
from stepwire_cli.sign_in.commands import checked, configured, site_at
from stepwire_cli.sign_in.facts import Site
from stepwire_cli.sign_in.hosts import HOSTS

FOLDER: Final = Path(__file__).parents[3] / "docs" / "issuers"
_BLOCK: Final = re.compile(r"(<!-- output: (?P<name>\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_NAMES: Final = 14  # characters in front of a fact
_OF_THE_SERVER: Final = frozenset({"server", "resource", "scopes"})


def outputs() -> dict[str, str]:
    """Return each block by its name."""
    pages = {one.key: f"Metadata {_kind(one)}.\n\n{_page(site_at(URL, one.web().reader()))}" for one in recorded()}
    mirror = site_at(URL, web_of_mirror().reader())
    return {"records": _records(recorded()), "clients": _clients(mirror), **pages, "mirror": _page(mirror)}


def _clients(site: Site) -> str:
    chosen = [one for one in HOSTS if one.key in ("codex", "claude-code")]
    made = "\n\n".join(configured(one, configuration(one, site, "6kd0example", 0)) for one in chosen)
    return f"```text\n{made}\n```\n"


def _page(site: Site) -> str:
    facts = [(line[:_NAMES].rstrip(), line[_NAMES:]) for line in checked(site)]
    return _lines(["fact", "as announced"], ([name, words] for name, words in facts if name not in _OF_THE_SERVER))


def _kind(one: Recorded) -> str:
    return f"as served, {one.date}" if one.kind == "recorded" else f"put together from documents, {one.date}"


def _records(found: Iterable[Recorded]) -> str:
    return _lines(
        ["issuer", "metadata", "source", "remarks"], ([one.name, _kind(one), one.source, one.note] for one in found)
    )


def _lines(head: list[str], rows: Iterable[list[str]]) -> str:
    return "\n".join([_row(head), "|---" * len(head) + "|", *map(_row, rows)]) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def written(text: str, blocks: dict[str, str]) -> str:
    """Return a page with the output of now."""
    return _BLOCK.sub(lambda found: f"{found[1]}{blocks[found['name']]}{found[3]}", text)


def pages() -> Iterator[Path]:
    """Yield the pages that have output."""
    yield from (path for path in sorted(FOLDER.glob("*.md")) if _BLOCK.search(path.read_text(encoding="utf-8")))


if __name__ == "__main__":
    now = outputs()
    for page in pages():
        page.write_text(written(page.read_text(encoding="utf-8"), now), encoding="utf-8")
