"""docs/deploying.md names a right for each kind of resource of the templates, and for each call of the command."""

import json
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, cast

import pytest
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # pyright: ignore[reportMissingTypeStubs]

from stepwire_cli.deployment.parts import extras_of
from stepwire_local.cloudformation.template import parse
from tests.docs.pages import ROOT, page
from tests.template.document import sources
from tests.template.translated import translated

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

# What resource types declare for properties that the templates do not set.
_NOT_SET: Final = re.compile(
    "|".join(
        (
            r"codedeploy:RegisterOnPremisesInstance",
            r"cognito-idp:(?:AddCustomAttributes|\w+WebACL\w*)",
            r"dynamodb:(?:(?:Put|Delete)ResourcePolicy|\w*(?:Import|Replica|StreamingDestination|Item|Query|Scan)\w*)",
            r"glue:(?:\w+Connection|GetSchemaVersion)",
            r"iam:\w+(?:Group|User)Policy|iam:\w+PermissionsBoundary|iam:UpdateRoleDescription",
            r"kms:(?:GenerateDataKeyWithoutPlaintext|ReEncrypt\w+)",
            r"lambda:(?:(?:Put|Delete)FunctionCodeSigningConfig|GetCodeSigningConfig|Pass\w+|PutFunction(?:Recursion|Scaling)Config)",
            r"logs:(?:(?:Put|Delete)(?:DataProtection|Index|Resource)Policy|PutLog\w+|PutBearer\w+)",
            r"s3:(?:\w*Replication\w*|\w*Metadata\w*|\w*(?:Analytics|IntelligentTiering|Inventory|Metrics)Configuration)",
            r"s3:(?:Put|Delete)\w*(?:Abac|Accelerate\w+|Acl|CORS|Cors|Encryption|Lifecycle|Notification|Website)",
            r"s3:(?:GetObjectVersion|REST\.PUT\.OBJECT|PutObjectLockConfiguration)",
            r"secretsmanager:\w*Replicat\w+",
            r"wafv2:\w+PermissionPolicy",
        )
    )
)


def section() -> str:
    text = page(ROOT / "docs" / "deploying.md").text
    return text.partition("## Permissions to deploy\n")[2].partition("\n## ")[0]


def test_each_kind_of_resource_has_its_rights() -> None:
    kinds = {kind for text in sources() for kind in _TYPE.findall(text)}

    assert kinds
    assert [kind for kind in sorted(kinds) if f"`{kind}`" not in section()] == []


def declared() -> Iterator[tuple[str, str]]:
    """Yield each kind of resource of the deployed template with each right that CloudFormation declares for it."""
    for kind in sorted({one["Type"] for one in json.loads(translated(ROOT / "stack.yaml"))["Resources"].values()}):
        schema = cast(Any, PROVIDER_SCHEMA_MANAGER).get_resource_schema("us-east-1", kind).schema
        handlers: dict[str, dict[str, list[str]]] = schema.get("handlers", {})
        rights = {right for work, one in handlers.items() if work != "list" for right in one.get("permissions", ())}
        yield from ((kind, right) for right in sorted(rights))


def test_each_call_that_a_resource_type_declares_has_its_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")  # the translator needs a Region
    named = [right.lower() for right in re.findall(r"`([\w-]+:[\w*]+)`", section())]
    services = {right.partition(":")[0] for right in named}

    needed = [
        (kind, right)
        for kind, right in declared()
        if right.partition(":")[0].lower() in services and not _NOT_SET.fullmatch(right)
    ]

    assert len(needed) > 200
    assert [one for one in needed if not any(fnmatchcase(one[1].lower(), right) for right in named)] == []


def test_the_page_has_each_extra_with_its_parameters() -> None:
    parts = {name: parse(ROOT / "extras" / name / "template.yaml") for name in extras_of(ROOT)}
    own = {
        name: [one for one, body in part.get("Parameters", {}).items() if "Type" in body]
        for name, part in parts.items()
    }

    rows = re.findall(
        r"^\| \[`(\w+)`\]\(\S+\) \| (.+) \| (.*) \|$", page(ROOT / "docs" / "deploying.md").text, re.MULTILINE
    )

    said = {name: (what, re.findall(r"\w+", names)) for name, what, names in rows}
    assert said == {name: (part["Description"], own[name]) for name, part in parts.items()}


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
