"""Patch of Lambda's Invoke: the function's code runs, in this process."""

import re
from collections.abc import Callable
from typing import Any, Final

from moto.awslambda.exceptions import UnknownFunctionException
from moto.awslambda_simple.models import LambdaSimpleBackend

from stepwire_local.lambdas import functions
from stepwire_local.lambdas.asynchronous import invoke_later
from stepwire_local.lambdas.invocations import Failed

_Replace = Callable[[object, str, object], None]
_HAS_ALIAS: Final = re.compile("(arn:.*:function:)?[^:]+:[^:]+")


def invoking_runs_the_code(replace: _Replace) -> None:
    """Patch: Run the function's code in this process.

    Defect: Without Docker, Invoke returns its request as the result, even for a function that does not exist.

    Ours: moto answers so on purpose (`lambda_simple`); to run code in the process of the caller is this stack's choice.
    """

    def invoke(
        self: Any, function_name: str, qualifier: str | None, body: Any, headers: Any, response_headers: dict[str, str]
    ) -> bytes | None:
        name, _, alias = (
            function_name.rpartition(":") if _HAS_ALIAS.fullmatch(function_name) else (function_name, "", "")
        )
        found = self.get_function(name, qualifier)  # raises ResourceNotFoundException, as AWS does
        function = functions.registered(found.function_arn)
        if alias and alias not in function.aliases:
            raise UnknownFunctionException(f"{found.function_arn}:{alias}")
        text: str = body.decode() if isinstance(body, bytes) else body or "{}"
        if headers.get("X-Amz-Invocation-Type") == "DryRun":
            return None
        if headers.get("X-Amz-Invocation-Type") == "Event":
            invoke_later(function, text)
            return b""
        outcome = function.invoke(text, alias)
        if isinstance(outcome, Failed):
            response_headers["x-amz-function-error"] = "Unhandled"
        return outcome.payload.encode()

    replace(LambdaSimpleBackend, "invoke", invoke)


PATCHES = (invoking_runs_the_code,)
