"""How the SAM CLI's own code reads our template and the file of variables, and converts requests and responses."""

import json
import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from stepwire_local import LocalStack
from stepwire_local.sam_local import ENDPOINT, env_vars, write_env_vars
from tests.adopted import ADOPTER
from tests.extras import parts
from tests.integration.samples import OfExtra
from tests.integration.stacks import ROOT, SIGN_IN
from tests.template.chosen import ON
from tests.template.document import FUNCTION, references, resource, resources, template
from tests.waiting import HANG_GUARD
from tests.wire_oracle import check

SAM: Final = ROOT / ".venv-sam"
MESSAGE: Final[dict[str, Any]] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
OF_EXTRAS: Final[list[OfExtra]] = [part.SAMPLES for part in parts("samples")]
BY_NAME: Final = {name for part in OF_EXTRAS for name in part.by_name}
"""Functions that the tests of their extras ask."""
# Variables of a developer's shell, which must not reach a test.
ALONE: Final = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "SAM_CLI_TELEMETRY": "0", "LC_ALL": "C.UTF-8"}


@pytest.fixture(scope="module")
def services() -> Iterator[LocalStack]:
    """The services with sign-in and everything that has a function of its own, so that every function exists."""
    of_extras = {name: value for part in OF_EXTRAS for name, value in part.parameters.items()}
    parameters = {"EventBus": "default", **ON, **of_extras, **SIGN_IN}
    with LocalStack(ROOT / "stack.yaml", services_at="127.0.0.1", parameters=parameters) as stack:
        yield stack


@pytest.fixture(scope="module")
def open_services() -> Iterator[LocalStack]:
    """The services without sign-in, as `make services` starts them."""
    parameters = {"WaitSeconds": "0"}
    with LocalStack(ROOT / "stack.yaml", others=[ADOPTER], services_at="127.0.0.1", parameters=parameters) as stack:
        yield stack


def driven(*arguments: str, given: object = None) -> Any:
    """Run a command of sam_driver.py."""
    command = [str(SAM / "bin" / "python"), str(Path(__file__).parent / "sam_driver.py"), *arguments]
    return json.loads(run(command, json.dumps(given)))


def run(command: list[str], given: str = "") -> str:
    """Run a program of the SAM CLI's environment; return its output."""
    assert (SAM / "ready").exists(), f"{SAM.name} is missing: run `make {SAM.name}/ready`"
    region = {"AWS_DEFAULT_REGION": "us-east-1"}
    ended = subprocess.run(
        command,
        input=given,
        cwd=ROOT,
        env=ALONE | region,
        capture_output=True,
        text=True,
        timeout=HANG_GUARD,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def declared(function: str) -> set[str]:
    """Return the names of the variables that the template declares for a function."""
    (body,) = [one.properties for one in resources(FUNCTION) if one.logical_id == function]
    shared = template()["Globals"]["Function"]["Environment"]["Variables"]
    return {*shared, *body.get("Environment", {}).get("Variables", {})}


class TestTheFileOfVariables:
    def test_has_exactly_the_functions_and_variables_of_the_template(self, services: LocalStack) -> None:
        written = env_vars(services)

        assert {name: set(values) for name, values in written.items()} == {
            one.logical_id: declared(one.logical_id) for one in resources(FUNCTION)
        }

    @pytest.mark.long
    def test_is_passed_to_the_containers_unchanged(self, services: LocalStack, tmp_path: Path) -> None:
        file = tmp_path / "env.json"
        write_env_vars(services, file)

        handed = driven("variables", str(ROOT / "stack.yaml"), str(file))

        written = env_vars(services)
        assert set(handed) == set(written)
        for function, values in written.items():
            assert handed[function] == handed[function] | values

    @pytest.mark.long
    def test_cannot_set_a_variable_that_the_template_does_not_declare(self, tmp_path: Path) -> None:
        file = tmp_path / "env.json"
        file.write_text(json.dumps({"McpFunction": {"NOT_DECLARED": "1", ENDPOINT: "http://there"}}), encoding="utf-8")

        handed = driven("variables", str(ROOT / "stack.yaml"), str(file))["McpFunction"]

        # Therefore the template declares the endpoint; the developer's own keys are used.
        assert "NOT_DECLARED" not in handed
        assert (handed[ENDPOINT], handed["AWS_ACCESS_KEY_ID"]) == ("http://there", "defaultkey")

    def test_is_the_file_that_samconfig_names(self) -> None:
        settings = (ROOT / "samconfig.toml").read_text(encoding="utf-8")

        assert settings.count('env_vars = ".aws-sam/local-env.json"') == 2


@pytest.mark.long
class TestStartApi:
    def test_converts_a_request_to_an_event_and_the_answer_to_a_response(self, open_services: LocalStack) -> None:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        sent = {"method": "POST", "path": "/mcp", "headers": headers, "body": json.dumps(MESSAGE)}
        root = str(ROOT / "stack.yaml")

        seen = driven("request", root, given={**sent, "answer": {"statusCode": 204}})
        answer = open_services.invoke("McpFunction", seen["event"])
        got = driven("request", root, given={**sent, "answer": answer})

        assert seen["function"] == "McpFunction"
        assert (got["status"], got["headers"]["content-type"]) == (200, "application/json")
        check(MESSAGE, json.loads(got["body"]), "2025-11-25")
        assert "wait_and_echo" in got["body"]

    def test_has_the_routes_of_the_template(self) -> None:
        path = "/.well-known/oauth-protected-resource/mcp"
        sent = {"method": "GET", "path": path, "headers": {"accept": "*/*"}, "body": ""}

        seen = driven("request", str(ROOT / "stack.yaml"), given={**sent, "answer": {"statusCode": 200, "body": ""}})

        assert (seen["function"], seen["event"]["rawPath"]) == ("MetadataFunction", path)


# The event of `sam local generate-event` for each kind of resource that invokes our functions; of a mapping, for each
# type of its source.
KINDS: Final = {
    "AWS::ApiGatewayV2::Integration": (("apigateway", "http-api-proxy"), None),
    "AWS::Events::Rule": (("cloudwatch", "scheduled-event"), None),
    "AWS::Lambda::EventSourceMapping of a stream": (("dynamodb", "update"), "AWS::DynamoDB::Table"),
    "AWS::Lambda::EventSourceMapping of a queue": (("sqs", "receive-message"), "AWS::SQS::Queue"),
}
FUNCTIONS: Final = {one.logical_id for one in resources(FUNCTION)}


def invoked_by(kind: str) -> set[str]:
    """Return the functions that resources of a kind invoke, without aliases."""
    _, source = KINDS[kind]
    sources = {one.logical_id for one in resources(source)} if source else set[str]()
    found = [one.properties for one in resources(kind.partition(" ")[0])]
    if sources:
        found = [one for one in found if references(one["EventSourceArn"]) & sources]
    return {name.partition(".")[0] for one in found for name in references(one)} & FUNCTIONS


TRIGGERED: Final = sorted((function, kind) for kind in KINDS for function in invoked_by(kind) - BY_NAME)


@cache
def generated_text(*kind: str) -> str:
    """Let the SAM CLI generate an event, which takes two seconds."""
    return run([str(SAM / "bin" / "sam"), "local", "generate-event", *kind])


def generated(kind: str) -> dict[str, Any]:
    """Return the generated event for a kind of resource."""
    return json.loads(generated_text(*KINDS[kind][0]))


class TestGeneratedEvents:
    """Generated events have the shape of ours, but name other tables, rules and clients."""

    @pytest.mark.parametrize(
        ("function", "kind"),
        [
            pytest.param(*one, marks=() if one[1] == "AWS::ApiGatewayV2::Integration" else pytest.mark.long)
            for one in TRIGGERED
        ],
    )
    def test_every_function_accepts_the_events_of_its_kind(
        self, services: LocalStack, function: str, kind: str
    ) -> None:
        answer = services.invoke(function, generated(kind))

        assert kind != "AWS::ApiGatewayV2::Integration" or answer["statusCode"] in (200, 403, 415)

    def test_all_but_the_functions_that_are_invoked_by_name_are_tried(self) -> None:
        states = references(resource("InputRequestsAddress").properties) & FUNCTIONS
        operators = {"OperatorFunction"}

        assert {function for function, _ in TRIGGERED} == FUNCTIONS - states - operators - BY_NAME

    @pytest.mark.long
    def test_the_error_for_a_generated_request_names_what_is_missing(self, open_services: LocalStack) -> None:
        answer = open_services.invoke("McpFunction", generated("AWS::ApiGatewayV2::Integration"))

        # It has a body, but no content type.
        assert (answer["statusCode"], json.loads(answer["body"])["error"]["code"]) == (415, -32600)

    @pytest.mark.long
    def test_a_generated_request_with_a_message_is_answered(self, open_services: LocalStack) -> None:
        event = generated("AWS::ApiGatewayV2::Integration")
        event |= {
            "body": json.dumps(MESSAGE),
            "isBase64Encoded": False,
            "headers": {"Content-Type": "application/json"},
        }

        answer = open_services.invoke("McpFunction", event)

        assert answer["statusCode"] == 200
        check(MESSAGE, json.loads(answer["body"]), "2025-11-25")

    def test_a_token_without_identifying_claims_is_refused(self, services: LocalStack) -> None:
        answer = services.invoke("McpFunction", generated("AWS::ApiGatewayV2::Integration"))

        assert (answer["statusCode"], json.loads(answer["body"])["error"]["data"]) == (
            403,
            {"missing": ["iss", "sub|client_id"]},
        )
