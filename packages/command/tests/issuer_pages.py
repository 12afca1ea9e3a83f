"""The parts of docs/issuers/ that are output: which host signs in with which issuer, and the table of hosts.

python -m packages.command.tests.issuer_pages    # writes them anew

They come from `stepwire sign-in check`, run against the metadata of real issuers in `issuers/`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from packages.command.tests.sites import URL, Recorded, recorded
from packages.command.tests.sites import mirror as web_of_mirror
from stepwire_cli.sign_in.commands import Found, configured, found_at
from stepwire_cli.sign_in.hosts import HOSTS, Host, Takes
from stepwire_cli.sign_in.rules import Verdict, Way, enterprise_managed

FOLDER: Final = Path(__file__).parents[3] / "docs" / "issuers"
_BLOCK: Final = re.compile(r"(<!-- output: (?P<name>\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_SHORT: Final = {Way.URL: "URL", Way.ID: "id", Way.NO: "no"}


def outputs() -> dict[str, str]:
    """Return each block by its name."""
    checks = {one.key: (one, found_at(URL, one.web().reader())) for one in recorded()}
    mirror = found_at(URL, web_of_mirror().reader())
    pages = {key: f"Metadata {_kind(one)}.\n\n{_page(check)}" for key, (one, check) in checks.items()}
    columns = {f"[{one.name}]({one.key}.md)": check for one, check in checks.values()}
    table = _table({**columns, "[Cognito, with the mirror](cognito.md)": mirror})
    hosts = {"hosts": _hosts(), "clients": _clients(mirror)}
    return {"table": table, "records": _records(recorded()), **hosts, **pages, "mirror": _page(mirror)}


def _clients(check: Found) -> str:
    chosen = [one for one in check.verdicts if one.host.key in ("codex", "claude-code")]
    lines = configured(Found(check.site, chosen), "6kd0example", 0)
    return "\n".join(["```text", *lines, "```", ""])


def _table(columns: Mapping[str, Found]) -> str:
    rows = [[host.name, *(_cell(_of(check, host)) for check in columns.values())] for host in HOSTS]
    return _lines(["host", *columns], rows)


def _cell(verdict: Verdict) -> str:
    secret = " with a secret" if verdict.way is Way.ID and verdict.host.takes is Takes.ID_AND_SECRET else ""
    return f"{_SHORT[verdict.way]}{secret}{' (?)' if verdict.doubts else ''}"


def _of(check: Found, host: Host) -> Verdict:
    return next(one for one in check.verdicts if one.host is host)


def _page(check: Found) -> str:
    """Return the verdicts with the hosts that share each."""
    hosts: dict[str, list[str]] = {}
    for verdict in check.verdicts:
        hosts.setdefault(verdict.text, []).append(verdict.host.name)
    notes = [f"- {finding.what}" for finding in check.site.findings]
    said = "\n".join(["It notes:", "", *notes, ""]) if notes else ""
    table = _lines(["hosts", "verdict"], ([", ".join(names), text] for text, names in hosts.items()))
    managed = [] if check.site.issuer is None else [f"ID-JAG: {enterprise_managed(check.site.issuer)}.", ""]
    return "\n".join([*managed, *([said] if said else []), table])


def _kind(one: Recorded) -> str:
    return f"as served, {one.date}" if one.kind == "recorded" else f"put together from documents, {one.date}"


def _records(found: Iterable[Recorded]) -> str:
    return _lines(
        ["issuer", "metadata", "source", "remarks"], ([one.name, _kind(one), one.source, one.note] for one in found)
    )


def _hosts() -> str:
    head = ["host", "how it gets an id", "insists on", "callbacks", "from"]
    return _lines(head, (_host(host) for host in HOSTS))


def _host(host: Host) -> list[str]:
    ways = [f"document `{host.document}`"] if host.document else []
    ways += ["registration"] if host.registers else []
    ways += [] if host.takes is Takes.NOTHING else [f"{host.takes.value} by hand"]
    demands = [one.value for one in host.demands] + [f"perhaps {one.value}" for one in host.perhaps]
    callbacks = ", ".join(f"`{one}`" for one in host.callbacks)
    return [host.name, "; ".join(ways), "; ".join(demands), callbacks, f"{host.sure.value}: {host.source}"]


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
