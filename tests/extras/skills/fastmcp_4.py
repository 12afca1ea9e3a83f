"""What fastmcp 4.1 reads of skills. It runs in an environment of its own, with nothing of ours.

.venv-fastmcp/bin/python tests/extras/skills/fastmcp_4.py URL < plan.json
"""
# pyright: basic, reportMissingImports=false

import asyncio
import hashlib
import json
import sys
from typing import Any

from fastmcp import Client
from fastmcp.skills import SkillsClientExtension
from fastmcp.skills._snapshot import parse_frontmatter
from fastmcp.utilities.skills import list_skills


async def main(url: str, plan: dict[str, Any]) -> None:
    """Read all skills: by the methods of the extension where the client has them, else as resources."""
    seen: dict[str, Any] = {}
    async with Client(url, mode=plan["mode"], extensions=[SkillsClientExtension()]) as client:
        seen["resources"] = [one.uri for one in await list_skills(client)]
        if plan["mode"] == "auto":
            skills = await client.list_skills()
            seen["listed"] = [one.uri for one in skills]
            seen["got"] = [(await client.get_skill(one.uri)) == one for one in skills]
            for skill in skills:
                for file in skill.resources:
                    (content,) = await client.read_resource(file.uri)
                    found = content.text.encode()
                    assert (len(found), f"sha256:{hashlib.sha256(found).hexdigest()}") == (file.size, file.digest)
                    if file.uri == skill.uri:
                        assert parse_frontmatter(found) == skill.frontmatter
        (content,) = await client.read_resource(seen["resources"][0])
        seen["text"] = content.text
    sys.stdout.write(json.dumps(seen))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], json.load(sys.stdin)))
