"""What function catalog makes of the skills beside manifests."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from stepwire.aws.storage.compiled_catalog import DynamoDbPublisher
from stepwire.aws.storage.table import Table
from stepwire.extras.skills.skill import skills_in
from stepwire_local.account.isolation import REGION
from stepwire_local.iam.clients import aws_client
from tests.unit.aws.test_catalog_function import SCHEDULED, compile_at, deletion, machine, published, register, table

__all__ = ["table"]


def skill(table: str, path: str, text: str | None = None) -> str:
    name = path.split("/")[-2]
    where = f"/stepwire/{table}/tools/{path}"
    value = text or f"---\nname: {name}\ndescription: Do it.\n---\n# How\n"
    aws_client("ssm", REGION).put_parameter(Name=where, Value=value, Type="String")
    return where


def skills(table: str) -> list[str]:
    found = DynamoDbPublisher(Table(table, lambda: aws_client("dynamodb", REGION))).read_files("skills", None)
    return [one.uri for shard in (found.shards if found else ()) for one in skills_in(shard)]


def test_a_skill_is_compiled_with_its_tool_and_a_bad_one_is_refused_beside_it(
    table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    machine(table, "M", endpoint=table)
    register(table, "orders")
    register(table, "lonely-name.x")
    skill(table, "orders/refunds/SKILL.md")
    skill(table, "orders/refunds/forms/short.md", "Short.")
    bad = skill(table, "orders/returns/SKILL.md", "# no fields")
    stranger = skill(table, "nobody/returns/SKILL.md")

    compile_at(SCHEDULED)

    *refused, summary = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert published(table) == ["lonely-name.x", "orders"]
    assert skills(table) == ["skill://tools/orders/refunds/SKILL.md"]
    assert {one["parameter"]: one["message"] for one in refused} == {
        stranger: "a registered skill is refused",
        bad: "a registered skill is refused",
    }
    assert (summary["tools"], summary["of_extras"], summary["refused"]) == (2, {"skills": 1}, 2)


def test_a_skill_goes_with_the_consent_to_its_tool_and_with_its_parameter(table: str) -> None:
    arn = machine(table, "M", endpoint=table)
    register(table, "orders")
    path = skill(table, "orders/refunds/SKILL.md")
    compile_at(SCHEDULED)
    served = skills(table)

    compile_at(deletion(path, datetime.now(UTC) + timedelta(seconds=1)))
    without_parameter = skills(table)
    compile_at(SCHEDULED)
    again = skills(table)
    compile_at({"detail-type": "Tag Change on Resource", "resources": [arn], "detail": {"tags": {}}})

    assert served == again == ["skill://tools/orders/refunds/SKILL.md"]
    assert (without_parameter, skills(table), published(table)) == ([], [], [])
