"""The SAM CLI's own code around the container that runs a function. Run by the Python of .venv-sam.

`sam_driver.py variables TEMPLATE ENV_VARS` prints the variables that the container of each function would get.
`sam_driver.py request TEMPLATE` reads a request and the function's answer, sends the request through `sam local
start-api`, and prints the event that the function would get and the response to the client. Both are JSON.
"""
# The type checker's environment does not have the SAM CLI.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false

import json
import sys
from pathlib import Path
from typing import Any

from samcli.commands.local.lib.local_lambda import LocalLambdaRunner
from samcli.lib.providers.api_provider import ApiProvider
from samcli.lib.providers.sam_function_provider import SamFunctionProvider
from samcli.lib.providers.sam_stack_provider import SamLocalStackProvider
from samcli.local.apigw.local_apigw_service import LocalApigwService


def variables(template: str, env_vars: str) -> dict[str, Any]:
    """Resolve the variables of each function, as with `--env-vars`."""
    functions = SamFunctionProvider(_stacks(template))
    values = json.loads(Path(env_vars).read_text(encoding="utf-8"))
    runner: Any = LocalLambdaRunner(None, functions, ".", ".", env_vars_values=values)
    return {one.name: runner._make_env_vars(one).resolve() for one in functions.get_all()}  # pyright: ignore[reportPrivateUsage]


class _Recorder:
    """Replaces the container runtime: records the event, and returns the given response."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.seen: dict[str, Any] = {}

    def is_debugging(self) -> bool:
        """Return that no debugger is attached."""
        return False

    def invoke(self, function: str, event: str, *, stdout: Any, **_: object) -> None:
        """Record the event, and answer."""
        self.seen = {"function": function, "event": json.loads(event)}
        stdout.write_str(json.dumps(self.answer))


def request(template: str) -> dict[str, Any]:
    """Send a request: {"method", "path", "headers", "body", "answer"}."""
    given = json.load(sys.stdin)
    # As in samconfig.toml: disable_authorizer.
    provider = ApiProvider(_stacks(template), cwd=str(Path(template).parent), disable_authorizer=True)
    recorder = _Recorder(given["answer"])
    service: Any = LocalApigwService(provider.api, recorder, port=3000, host="127.0.0.1")
    service.create()
    client = service._app.test_client()
    response = client.open(given["path"], method=given["method"], headers=given["headers"], data=given["body"])
    answered = {
        "status": response.status_code,
        "headers": {name.lower(): value for name, value in response.headers},
        "body": response.get_data(as_text=True),
    }
    return {**recorder.seen, **answered}


def _stacks(template: str) -> Any:
    stacks, _ = SamLocalStackProvider.get_stacks(template)
    return stacks


if __name__ == "__main__":
    print(json.dumps({"variables": variables, "request": request}[sys.argv[1]](*sys.argv[2:])))  # noqa: T201
