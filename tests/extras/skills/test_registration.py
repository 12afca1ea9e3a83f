"""Owners register skills beside their tools, with parameters alone, while clients call."""

import pytest

from stepwire.catalog.live import REREAD_AFTER
from stepwire.extras.skills.skill import skills_in
from tests.integration.clock import Clock
from tests.integration.conftest import clock
from tests.integration.owners import Owner
from tests.integration.stacks import Deployed
from tests.integration.test_registration import names, owner, stack
from tests.server.clients import LegacyClient, ModernClient
from tests.waiting import until

__all__ = ["clock", "owner", "stack"]


def skills_of(owner: Owner) -> list[str]:
    """Return the URIs of the registered skills that are served."""
    found = owner.catalog.read_files("skills", None)
    return [one.uri for shard in (found.shards if found else ()) for one in skills_in(shard)]


@pytest.mark.long
def test_a_skill_is_registered_beside_its_tool_and_comes_and_goes_with_it(
    stack: Deployed, owner: Owner, clock: Clock
) -> None:
    modern, legacy = ModernClient(stack), LegacyClient.opened(stack)
    file, own = "registered_echo/how-to-echo/SKILL.md", "skill://workflows/run-a-workflow/SKILL.md"
    text = "---\nname: how-to-echo\ndescription: How to echo.\n---\n# Echo\n"

    def served() -> tuple[list[str], ...]:
        clock.move(seconds=REREAD_AFTER.total_seconds())
        lists = [modern.ask("skills/list").result["skills"]]
        lists += [client.ask("resources/list").result["resources"] for client in (modern, legacy)]
        return tuple([one["uri"] for one in found] for found in lists)

    owner.register("registered_echo")
    owner.register(file, text)
    until(lambda: skills_of(owner) == [f"skill://tools/{file}"])
    assert served() == ([f"skill://tools/{file}", own],) * 3
    (content,) = legacy.ask("resources/read", {"uri": f"skill://tools/{file}"}).result["contents"]
    assert content["text"] == text

    owner.register(file, text.replace("name: ", "name: not-"))
    until(lambda: "registered_echo" in owner.refusals())
    assert owner.refusals()["registered_echo"]["reason"] == "name: must be the name of its folder, 'how-to-echo'"
    assert served() == ([own],) * 3
    assert "registered_echo" in names(modern), "the tool serves without it"

    owner.register(file, text)
    until(lambda: skills_of(owner) != [])
    owner.remove("registered_echo")
    until(lambda: skills_of(owner) == [])
    assert served() == ([own],) * 3
