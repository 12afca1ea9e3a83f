"""What a function's result becomes is what Lambda's own client for Python makes of it."""

import json
from pathlib import Path

import pytest

from stepwire_local.lambdas.functions import Function
from stepwire_local.lambdas.invocations import Failed, FunctionSettings, Returned

CODE = """
from decimal import Decimal

RESULTS = {"decimals": [Decimal("3"), Decimal("0.5"), Decimal("1E+2")], "set": {1}}

def handler(event, context):
    return RESULTS[event]
"""


@pytest.fixture
def function(tmp_path: Path) -> Function:
    (tmp_path / "app.py").write_text(CODE, encoding="utf-8")
    return Function(FunctionSettings("results", "arn:results", tmp_path, "app.handler"))


def test_numbers_of_dynamodb_are_numbers(function: Function) -> None:
    assert function.invoke('"decimals"') == Returned("[3, 0.5, 100]")


def test_what_is_not_json_fails(function: Function) -> None:
    outcome = function.invoke('"set"')

    assert isinstance(outcome, Failed)
    error = json.loads(outcome.payload)
    assert error["errorType"] == "Runtime.MarshalError"
    assert error["errorMessage"] == "Unable to marshal response: Object of type set is not JSON serializable"
