"""Every fenced snippet of the documents is run or read by a test, as it stands there, or has a reason.

Commands, which are indented, are in test_commands. Here are the snippets of docs/talking_workflows.md, and the stack in
Terraform of docs/deploying.md; the table says who runs the others.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from release.template import BUCKET
from stepwire.manifests.reading import main as check_manifests
from stepwire_local import LocalStack, at_once
from stepwire_local.cloudformation.template import parse
from tests.adopted import ADOPTER
from tests.docs.pages import PAGES, ROOT, page, shown_by_extras
from tests.integration.stacks import SIGN_IN, AwsCalls, Deployed
from tests.server.clients import TASKS_CAPABILITY, ModernClient
from tests.terraform import is_formatted, needs_terraform
from tests.waiting import until

Json = dict[str, Any]
HERE: Final = "tests/docs/test_snippets.py"
_MANIFESTS: Final = "tests/docs/test_contents.py"
_ADOPTING: Final = "tests/docs/test_adopting.py"
_CLI: Final = "packages/command/tests/test_cli_page.py"
# The test that runs or reads the snippets of a page in a language.
RUN_BY: Final = {
    ("README.md", "yaml"): _MANIFESTS,
    ("docs/adopting.md", "yaml"): _ADOPTING,
    ("docs/adopting.md", "typescript"): _ADOPTING,
    ("docs/adopting.md", "hcl"): _ADOPTING,
    ("docs/adopting.md", "json"): _ADOPTING,
    ("docs/cli.md", "text"): _CLI,
    ("docs/agentcore.md", "json"): "tests/clients/replayed/test_agentcore_gateway.py",
    ("docs/clients.md", "python"): "tests/clients/test_clients_page.py",
    ("docs/completion_events.md", "json"): "tests/template/test_completion_events.py",
    ("docs/completion_events.md", "yaml"): "tests/template/test_completion_events.py",
    ("docs/deploying.md", "hcl"): HERE,
    ("docs/issuers/README.md", "text"): "packages/command/tests/test_issuer_pages.py",
    ("docs/python_client.md", "python"): "packages/client/tests/test_client_page.py",
    ("docs/running_locally.md", "yaml"): "tests/docs/test_running_locally.py",
    ("docs/running_locally.md", "json"): "tests/docs/test_running_locally.py",
    ("docs/running_locally.md", "python"): "tests/docs/test_running_locally.py",
    ("docs/running_locally.md", "text"): "tests/docs/test_running_locally.py",
    ("docs/testing.md", "python"): "tests/docs/test_testing_page.py",
    ("docs/testing.md", "yaml"): "tests/docs/test_testing_page.py",
    ("docs/talking_workflows.md", "yaml"): HERE,
    ("docs/talking_workflows.md", "text"): HERE,
    ("docs/tools.md", "yaml"): _MANIFESTS,
    ("docs/who_calls.md", "yaml"): "tests/integration/test_who_calls.py",
    ("docs/who_calls.md", "json"): "tests/integration/test_who_calls.py",
    **shown_by_extras("snippet"),
}
_PICTURE: Final = "drawn by the site, whose build fails on what it cannot draw"
_INSIGHTS: Final = "a query of CloudWatch Logs Insights, which nothing here runs; its fields are those of docs/audit.md"
UNTESTABLE: Final = {
    ("README.md", "mermaid"): _PICTURE,
    ("docs/how_it_works.md", "mermaid"): _PICTURE,
    ("CONTRIBUTING.md", "text"): "a list of folders",
    ("docs/audit.md", "text"): _INSIGHTS,
    ("docs/clients.md", "json"): "a host's own file; tests/clients/replayed/behaviours.py has clients with its URL",
    ("docs/clients.md", "text"): "what a person and a host say, and a query of CloudWatch Logs Insights",
    ("docs/deploying.md", "typescript"): "was synthesized by hand; CDK takes 100 MB from npm",
    ("docs/tracing.md", "text"): _INSIGHTS,
    ("docs/deploying.md", "text"): "lines for the policy of a key in an AWS account",
}


def test_every_snippet_is_run_by_a_test_or_has_a_reason() -> None:
    shown = {(page(path).name, language) for path in PAGES for language in page(path).languages}

    assert shown == RUN_BY.keys() | UNTESTABLE.keys()
    assert {test for test in RUN_BY.values() if not (ROOT / test).exists()} == set()


# ----------------------------------------------------------------------------------------------- workflows that ask

TALKING: Final = page(ROOT / "docs/talking_workflows.md")
ASKS: Final[Json] = {**TASKS_CAPABILITY, "elicitation": {}, "sampling": {}, "roots": {}}
ANSWERS: Final[dict[str, Json]] = {
    "elicitation": {"action": "accept", "content": {"note": "Go on."}},
    "sampling": {"role": "assistant", "model": "a model", "content": {"type": "text", "text": "Short."}},
    "roots": {"roots": [{"uri": "file:///home/alice"}]},
}


def snippet(words: str) -> Any:
    """Return the one YAML snippet of the page with these words, as it is read."""
    (found,) = [block for block in TALKING.blocks("yaml") if words in block]
    return yaml.safe_load(found)


def definition(kind: str) -> Json:
    """Return a workflow of the page's two states: it asks what `kind` says, and reports."""
    ask, report = snippet("AskForApproval:"), snippet("Report:")
    if kind != "elicitation":
        payload = ask["AskForApproval"]["Arguments"]["Payload"]
        del payload["elicitation"]
        payload |= snippet(f"{kind}:")
    states = {**ask, "Decide": {"Type": "Pass", "Next": "Report"}, **report, "GoOn": {"Type": "Succeed"}}
    return {"QueryLanguage": "JSONata", "StartAt": "AskForApproval", "States": states}


def links() -> dict[str, Json]:
    """Return workflows that end as the page's two texts say."""
    outputs = [json.loads(text) for text in TALKING.blocks("text")]
    return {
        f"link_{number}": {
            "QueryLanguage": "JSONata",
            "StartAt": "End",
            "States": {"End": {"Type": "Pass", "Output": output, "End": True}},
        }
        for number, output in enumerate(outputs)
    }


def resources(name: str, workflow: Json) -> Json:
    """Return a state machine and its tool."""
    asks = "{{resolve:ssm:/stepwire/${Endpoint}/input_requests}}"
    statements = [
        {"Effect": "Allow", "Action": "lambda:InvokeFunction", "Resource": {"Fn::Sub": asks}},
        {"Effect": "Allow", "Action": "events:PutEvents", "Resource": "*"},
    ]
    manifest = f"name: {name}\ndescription: It.\nstate_machine: ${{{name}}}\ninput_schema: {{type: object}}\n"
    value = {"Name": {"Fn::Sub": f"/stepwire/${{Endpoint}}/tools/{name}"}, "Type": "String"}
    machine = {
        "Tags": {"stepwire:endpoint": {"Ref": "Endpoint"}},
        "Definition": workflow,
        "DefinitionSubstitutions": {
            "InputRequestsFunctionArn": {"Fn::Sub": asks},
            "Partition": {"Ref": "AWS::Partition"},
        },
        "Policies": [{"Statement": statements}],
    }
    return {
        name.replace("_", ""): {"Type": "AWS::Serverless::StateMachine", "Properties": machine},
        f"{name.replace('_', '')}Tool": {
            "Type": "AWS::SSM::Parameter",
            "Properties": {
                **value,
                "Value": {"Fn::Sub": manifest.replace(f"${{{name}}}", f"${{{name.replace('_', '')}}}")},
            },
        },
    }


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    workflows = {kind: definition(kind) for kind in ANSWERS} | links()
    body = {
        "Transform": "AWS::Serverless-2016-10-31",
        "Parameters": {"Endpoint": {"Type": "String"}},
        "Resources": {key: one for name, flow in workflows.items() for key, one in resources(name, flow).items()},
    }
    (template := tmp_path_factory.mktemp("talking") / "template.yaml").write_text(json.dumps(body), encoding="utf-8")
    parameters = {"PollsPerSecond": "0", **SIGN_IN}
    with LocalStack(ROOT / "stack.yaml", others=[template, ADOPTER], events=at_once, parameters=parameters) as stack:
        yield Deployed(stack, AwsCalls())


def ended(client: ModernClient, task_id: str) -> Json:
    until(lambda: client.task("get", task_id).result["status"] == "completed")
    return client.task("get", task_id).result["result"]


@pytest.mark.parametrize("kind", ANSWERS)
def test_a_workflow_of_the_page_s_states_asks_gets_the_answer_and_reports(stack: Deployed, kind: str) -> None:
    client = ModernClient(stack, capabilities=ASKS)
    task_id = client.call(kind, {}).id_in()

    until(lambda: client.task("get", task_id).result["status"] == "input_required")
    (asked,) = client.task("get", task_id).result["inputRequests"].values()
    client.update(task_id, {"approval": ANSWERS[kind]})
    result = ended(client, task_id)

    assert (
        asked["params"] == definition(kind)["States"]["AskForApproval"]["Arguments"]["Payload"][kind] | asked["params"]
    )
    assert result["structuredContent"] == ANSWERS[kind]


def test_a_report_that_fails_changes_nothing_for_the_states_that_follow() -> None:
    report = snippet("Report:")["Report"]

    assert [one["Output"] for one in report["Catch"]] == [report["Output"]]


def test_a_workflow_ends_with_the_page_s_links_to_its_own_objects(stack: Deployed) -> None:
    client = ModernClient(stack)

    link, name = (ended(client, client.call(tool, {}).id_in()) for tool in links())

    assert re.fullmatch(r"s3://my-reports/[^/{]+/report.csv", link["content"][0]["uri"])
    assert re.fullmatch(r"s3://my-reports/[^/{]+/result.json", name["structuredContent"]["result"])


@pytest.mark.parametrize("words", ["confirm:", "result_bucket:"])
def test_the_page_s_fields_belong_to_a_valid_manifest(words: str, tmp_path: Path) -> None:
    smallest = {"name": "a", "description": "A.", "state_machine": "A"}
    schema = {"type": "object", "properties": {"filename": {"type": "string"}}, "required": ["filename"]}
    (tmp_path / "a.yaml").write_text(yaml.safe_dump({**smallest, "input_schema": schema, **snippet(words)}))

    assert check_manifests([str(tmp_path)]) == 0


# ---------------------------------------------------------------------------------------------------------- Terraform

(STACK,) = page(ROOT / "docs/deploying.md").blocks("hcl")


def test_the_stack_in_terraform_has_the_parameters_without_a_default() -> None:
    (parameters,) = re.findall(r"parameters += \{(.*)\}", STACK)

    needed = {name for name, one in parse(ROOT / "stack.yaml")["Parameters"].items() if "Default" not in one}
    assert set(re.findall(r"(\w+) =", parameters)) == needed | {BUCKET}


@needs_terraform
def test_terraform_itself_reads_the_stack() -> None:
    assert is_formatted(STACK)
