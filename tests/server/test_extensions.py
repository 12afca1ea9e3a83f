"""What of an extension is outside of its folder (`stepwire/server/extension.py`) agrees with what is inside."""

import ast
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from stepwire.catalog.tools import OWN_TOOLS
from stepwire.server import extension, extensions
from stepwire.server.composition import EXTENSIONS
from stepwire.server.services import Services

SERVER: Final = Path(extensions.__path__[0]).parent
OPTIONAL: Final = frozenset(
    Services.__struct_fields__[len(Services.__struct_fields__) - len(Services.__struct_defaults__) :]
)
"""The fields of `Services` without which an endpoint works."""


def read_in(files: Iterable[Path]) -> set[str]:
    """Return the optional services that modules of the server read."""
    nodes = (node for file in files for node in ast.walk(ast.parse(file.read_text("utf-8"))))
    return {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and ast.unparse(node.value).rpartition(".")[2] == "services"
    } & OPTIONAL


def test_the_names_of_all_their_tools_are_kept_from_manifests() -> None:
    assert {name for one in EXTENSIONS for name in one.tool_names} == OWN_TOOLS


def test_what_they_alone_need_of_the_endpoint_is_named_where_the_rule_is() -> None:
    (named,) = re.findall(
        r"which is a field of `Services`\s+that `aws.mcp_function` fills \(([^)]+)\)", extension.__doc__ or ""
    )
    call = SERVER / "call.py"  # has the core's part of two extensions, as the same text says
    theirs = read_in([*(SERVER / "extensions").rglob("*.py"), call])

    assert set(re.findall("`(.+?)`", named)) == theirs - read_in(set(SERVER.glob("*.py")) - {call})
