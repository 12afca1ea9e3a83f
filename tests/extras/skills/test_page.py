"""The skill in docs/extras/skills.md is served as the page says, and the page has the limits of the code."""

from typing import Any

import yaml

from stepwire.extras.skills import manifest as skill_files
from stepwire.extras.skills.manifest import checked_skills
from stepwire.extras.skills.serving import own_skill
from stepwire.manifests.published import ToolFile
from tests.docs.pages import ROOT, page

PAGE = page(ROOT / "docs/extras/skills.md")


def test_the_skill_of_the_page_is_served_at_its_uri() -> None:
    (block,) = PAGE.blocks("yaml")
    (parameter,) = (one["Properties"] for one in yaml.safe_load(block).values())
    assert parameter["Type"] == "String"
    tool, _, path = parameter["Name"].removeprefix("/stepwire/stepwire/tools/").partition("/")

    checked = checked_skills([ToolFile(tool, path, parameter["Name"], parameter["Value"])], {tool})

    assert checked.refusals == ()
    assert [one.uri for one in checked.parts or ()] == [f"skill://tools/{tool}/{path}"]


def test_the_page_names_the_skill_of_every_endpoint() -> None:
    assert own_skill().uri in PAGE.text


def test_the_page_has_the_limits() -> None:
    limits: Any = vars(skill_files)
    names = ("LARGEST_SKILL", "LARGEST_SKILLS", "MOST_FILES", "MOST_SKILLS", "_MOST_METADATA", "_LONGEST_METADATA")

    for limit in [*(limits[name] for name in names), *limits["_LONGEST"].values()]:
        assert f" {limit:,} " in PAGE.text.replace("characters", " ").replace("|", " ")
