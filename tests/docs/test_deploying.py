"""docs/deploying.md names a right for each kind of resource of the templates, and for each call of the command."""

import re
from pathlib import Path
from typing import Final

from tests.docs.pages import ROOT, page

_TYPE: Final = re.compile(r"Type: (AWS::\w+::\w+)")
_TRANSFORM: Final = re.compile(r"(?:Transform|Name): AWS::([\w-]+)$", re.MULTILINE)
_CALL: Final = re.compile(r"\.(?:call|pages)\(\s*\"([\w-]+)\",\s*\"(\w+)\"")
# Calls whose right has another name, and the one that needs none.
_RIGHTS: Final = {
    "s3:HeadBucket": ["s3:ListBucket"],
    "s3:HeadObject": ["s3:GetObject"],
    "s3:DeleteObjects": ["s3:DeleteObject", "s3:DeleteObjectVersion"],
    "s3:ListObjectVersions": ["s3:ListBucketVersions"],
}


def section() -> str:
    text = page(ROOT / "docs" / "deploying.md").text
    return text.partition("## Permissions to deploy\n")[2].partition("\n## ")[0]


def test_each_kind_of_resource_has_its_rights() -> None:
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("template.yaml", "operations.yaml")]
    kinds = {kind for text in texts for kind in _TYPE.findall(text)}

    assert kinds
    assert [kind for kind in sorted(kinds) if f"`{kind}`" not in section()] == []


def test_each_transform_has_its_right() -> None:
    transforms = _TRANSFORM.findall((ROOT / "template.yaml").read_text(encoding="utf-8"))

    assert transforms == ["Serverless-2016-10-31", "Include"]
    assert [name for name in transforms if f"arn:aws:cloudformation:*:aws:transform/{name}`" not in section()] == []


def test_each_call_of_the_command_has_its_right() -> None:
    folder: Path = ROOT / "packages" / "command" / "stepwire_cli" / "deployment"
    texts = [one.read_text(encoding="utf-8") for one in folder.glob("*.py")]
    calls = {f"{service}:{name}" for text in texts for service, name in _CALL.findall(text)}
    rights = [right for call in sorted(calls) for right in _RIGHTS.get(call, [call])]

    assert calls
    assert [right for right in rights if f"`{right}`" not in section()] == []
