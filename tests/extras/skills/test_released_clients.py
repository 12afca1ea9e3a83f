"""A released client reads the skills: fastmcp 4.1, by the methods of the extension and as resources."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stepwire.extras.skills import skills_of
from stepwire.extras.skills.manifest import checked_skills
from stepwire.manifests.published import ToolFile
from tests.clients.endpoint import serving
from tests.clients.programs import FASTMCP_PYTHON, in_python, needs_fastmcp
from tests.kits import World

MAIN = '---\nname: refunds\ndescription: Refund a customer.\nmetadata: {team: "ä"}\n---\n# Refunds\n'
URIS = ["skill://tools/optional/refunds/SKILL.md", "skill://workflows/run-a-workflow/SKILL.md"]


@pytest.fixture
def url() -> Iterator[str]:
    """The URL of an endpoint with a skill of an owner."""
    world = World()
    files = [
        ToolFile("optional", f"refunds/{path}", path, text) for path, text in (("SKILL.md", MAIN), ("a/b.md", "b\r\n"))
    ]
    skills = checked_skills(files, {"optional"}).parts or ()
    world.services.ground.built[skills_of] = lambda: skills
    with serving(world.server.handle) as url:
        yield url


@pytest.mark.long
@needs_fastmcp
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_fastmcp_reads_the_skills(url: str, mode: str) -> None:
    seen = in_python(FASTMCP_PYTHON, Path(__file__).parent / "fastmcp_4.py", url, {"mode": mode})

    assert (seen["resources"], seen["text"]) == (URIS, MAIN)
    assert seen.get("listed", URIS) == URIS
    assert all(seen.get("got", ()))
