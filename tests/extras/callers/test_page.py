"""What docs/extras/callers.md says of copies elsewhere is what the template for them has."""

from stepwire_local.cloudformation.template import read
from tests.docs.pages import ROOT, page


def test_the_days_of_the_copies_are_those_that_the_page_names() -> None:
    days = read(ROOT / "docs/assets/copies_elsewhere.yaml")["Parameters"]["KeepDays"]["Default"]
    row = next(line for line in page(ROOT / "docs/extras/callers.md").text.splitlines() if "`KeepDays`" in line)

    assert f"{days} days" in row
