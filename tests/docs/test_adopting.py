"""The tutorial in docs/adopting.md: each way makes the same tag and parameter, and SAM's is really served.

No CDK or Serverless Framework runs here: their snippets are read, and compared with SAM's. So is Terraform's, which is
also formatted and evaluated where a machine has Terraform.
"""

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest
import yaml

from stepwire.manifests.reading import read_manifest
from stepwire_local import LocalStack
from stepwire_local.cloudformation.template import parse
from tests.docs.pages import ROOT, Page, page
from tests.integration.stacks import AwsCalls, Deployed
from tests.kits import state_machine_arn
from tests.server.clients import LegacyClient, ModernClient
from tests.terraform import evaluated, is_formatted, needs_terraform
from tests.waiting import HANG_GUARD, until

Json = dict[str, Any]
PAGE: Final[Page] = page(ROOT / "docs" / "adopting.md")
MACHINE: Final = "${SettleInvoices}"
WORKFLOW: Final = """
StartAt: Settle
States:
  Settle: {Type: Pass, Result: {settled: 3}, ResultPath: $.result, End: true}
"""


@dataclass(frozen=True)
class Adoption:
    """What a stack makes of its own for the endpoint."""

    tags: Mapping[str, str]
    parameter: str
    manifest: str


def block(language: str, words: str) -> str:
    """Return the one block of the page in a language that has these words."""
    (found,) = [one for one in PAGE.blocks(language) if words in one]
    return found


def sam() -> Json:
    resources = _parsed(block("yaml", "AWS::Serverless::StateMachine"))
    return {"Transform": "AWS::Serverless-2016-10-31", "Resources": resources}


def serverless() -> Json:
    """Read the snippet as the plugin does: a state machine by its id, beside the resources."""
    read = _parsed(block("yaml", "stepFunctions:"))
    machines = {one["id"]: one for one in read["stepFunctions"]["stateMachines"].values()}
    made = {
        name: {
            "Type": "AWS::Serverless::StateMachine",
            "Properties": {"DefinitionUri": _file(one["definition"]), "Tags": one["tags"]},
        }
        for name, one in machines.items()
    }
    return {"Transform": "AWS::Serverless-2016-10-31", "Resources": {**made, **read["resources"]["Resources"]}}


def of_template(body: Json) -> Adoption:
    resources: Json = body["Resources"]
    machine, parameter = resources["SettleInvoices"]["Properties"], resources["SettleInvoicesTool"]["Properties"]
    assert parameter["Type"] == "String"
    return Adoption(machine["Tags"], parameter["Name"], parameter["Value"]["Fn::Sub"])


def of_the_cdk() -> Adoption:
    """Read the TypeScript: an object literal is YAML, but for the calls in it."""
    text = block("typescript", "StringParameter")
    tag = re.search(r'Tags\.of\(machine\)\.add\("([^"]+)", "([^"]+)"\)', text)
    literal = re.search(r'StringParameter\(this, "\w+", (\{.*\})\);', text, re.DOTALL)
    assert tag
    assert literal
    plain = re.sub(r"JSON\.stringify\((\{.*\})\)", r"\1", literal[1], flags=re.DOTALL)
    read = yaml.safe_load(plain.replace("machine.stateMachineArn", f'"{MACHINE}"'))
    assert read["tier"] == "ssm.ParameterTier.INTELLIGENT_TIERING"
    return Adoption({tag[1]: tag[2]}, read["parameterName"], yaml.safe_dump(read["stringValue"]))


def of_terraform() -> Adoption:
    """Read the HCL: an attribute a line, objects in one line."""
    text = block("hcl", "aws_ssm_parameter")
    machine, parameter = re.findall(r'resource "\w+" "\w+" \{\n(.*?)\n\}', text, re.DOTALL)
    parts = re.match(r"(.*)\n  value = yamlencode\(\{\n(.*)\n  \}\)", parameter, re.DOTALL)
    assert parts
    settings, inner = _attributes(parts[1]), parts[2]
    assert (settings["type"], settings["tier"]) == ("String", "Intelligent-Tiering")
    manifest = inner.replace("aws_sfn_state_machine.settle_invoices.arn", f'"{MACHINE}"')
    return Adoption(_attributes(machine)["tags"], settings["name"], yaml.safe_dump(_attributes(manifest)))


def _attributes(hcl: str) -> Json:
    pairs = [line.partition("=") for line in hcl.splitlines() if "=" in line]
    return {name.strip(): yaml.safe_load(value.replace(" = ", ": ")) for name, _, value in pairs}


def _parsed(text: str) -> Json:
    """Read YAML with CloudFormation's short forms."""
    with TemporaryDirectory() as folder:
        (path := Path(folder) / "snippet.yaml").write_text(text, encoding="utf-8")
        return parse(path)


def _file(reference: str) -> str:
    found = re.fullmatch(r"\$\{file\((.+)\)\}", reference)
    assert found
    return found[1]


SHOWN: Final = {
    "SAM": lambda: of_template(sam()),
    "the CDK": of_the_cdk,
    "Terraform": of_terraform,
    "the Serverless Framework": lambda: of_template(serverless()),
}


@pytest.mark.parametrize("tool", SHOWN)
def test_every_way_makes_the_same_tag_and_the_same_parameter(tool: str) -> None:
    shown = SHOWN[tool]()

    assert shown.tags == {"stepwire:endpoint": "stepwire"}
    assert shown.parameter == "/stepwire/stepwire/tools/settle_invoices"


@pytest.mark.parametrize("tool", SHOWN)
def test_every_manifest_is_a_good_one_of_the_stack_s_own_state_machine(tool: str) -> None:
    text = SHOWN[tool]().manifest

    assert MACHINE in text
    manifest = read_manifest(text.replace(MACHINE, state_machine_arn("SettleInvoices")))
    assert manifest.name == "settle_invoices"
    assert manifest.state_machine == state_machine_arn("SettleInvoices")


@needs_terraform
def test_terraform_itself_reads_its_snippet(tmp_path: Path) -> None:
    text, shown = block("hcl", "aws_ssm_parameter"), of_terraform()
    (manifest,) = re.findall(r"value = (yamlencode\(.*?\n  \}\))", text, re.DOTALL)

    value = evaluated(manifest.replace("aws_sfn_state_machine.settle_invoices.arn", f'"${MACHINE}"'), tmp_path)

    assert is_formatted(text)
    assert yaml.safe_load(value) == yaml.safe_load(shown.manifest)


def test_the_first_manifest_has_six_lines_and_is_a_good_one() -> None:
    first = PAGE.blocks("yaml")[0]

    assert read_manifest(first).name == "settle_invoices"
    assert len(first.strip().splitlines()) == 6


@pytest.mark.long
def test_the_commands_that_call_the_tool_are_run_as_they_are_shown(tmp_path: Path) -> None:
    (tmp_path / "settle_invoices.asl.yaml").write_text(WORKFLOW, encoding="utf-8")
    (template := tmp_path / "template.yaml").write_text(yaml.safe_dump(sam()), encoding="utf-8")
    shown = [one for one in PAGE.commands if one.startswith((".venv/bin/stepwire", "export "))]

    with LocalStack(ROOT / "stack.yaml", others=[template], name="stepwire", port=0) as local:
        script = "\n".join(["set -e", *shown]).replace("http://127.0.0.1:3000/mcp", local.url)
        ended = subprocess.run(
            ["sh", "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=HANG_GUARD, check=False
        )

    assert local.url in script
    assert ended.returncode == 0, ended.stderr
    assert "settle_invoices\t[customer]" in ended.stdout
    assert '"customer": "C-7"' in ended.stdout


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(sam(), id="SAM"),
        pytest.param(serverless(), id="the Serverless Framework", marks=pytest.mark.long),
    ],
)
def test_what_the_page_shows_is_deployed_beside_the_endpoint_and_called(body: Json, tmp_path: Path) -> None:
    (tmp_path / "settle_invoices.asl.yaml").write_text(WORKFLOW, encoding="utf-8")
    (template := tmp_path / "template.yaml").write_text(yaml.safe_dump(body), encoding="utf-8")

    often = {"PollsPerSecond": "0"}
    with LocalStack(ROOT / "stack.yaml", others=[template], name="stepwire", parameters=often) as local:
        stack = Deployed(local, AwsCalls())
        modern, legacy = ModernClient(stack), LegacyClient.opened(stack)
        ids = [
            modern.call("settle_invoices", {"customer": "C-1"}).id_in(),
            legacy.call("settle_invoices", {"customer": "C-1"}, task={}).id_in("task"),
        ]
        for task_id in ids:
            until(lambda task_id=task_id: modern.task("get", task_id).result["status"] == "completed")
        results = [modern.task("get", task_id).result["result"]["structuredContent"] for task_id in ids]

    assert results == [{"customer": "C-1", "result": {"settled": 3}}] * 2
