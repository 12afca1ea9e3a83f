"""What a call costs thanks to patches of moto, and that it does the same."""

import inspect
from typing import Any, Final

import pytest
from botocore.exceptions import ClientError
from moto.core import models
from moto.core.base_backend import BackendDict
from moto.dynamodb.comparisons import ConditionExpressionParser
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.parsing import validators
from moto.dynamodb.parsing.ast_nodes import DepthFirstTraverser
from moto.dynamodb.parsing.tokens import ExpressionTokenizer

from packages.local.tests.proving import calls_of, proof
from packages.local.tests.simulated import Account

# Why long: they prove that moto needs its patches, which only a change of moto or of a patch can change.
pytestmark = pytest.mark.long

KEY: Final = {"pk": {"S": "a"}}
PROCESSORS: Final = 8


def updated(account: Account, expression: str, **values: Any) -> Any:
    """Update an item that has a count, a list, a map and a set; return what it is then."""
    table = account.table()
    item = {"count": {"N": "1"}, "list": {"L": [{"S": "x"}]}, "map": {"M": {"a": {"S": "1"}}}, "set": {"SS": ["x"]}}
    account.tables.put_item(TableName=table, Item={**KEY, **item})
    named = {f"#{name}": name for name in item if f"#{name}" in expression}
    given = {f":{name}": value for name, value in values.items()}
    account.tables.update_item(
        TableName=table,
        Key=KEY,
        UpdateExpression=expression,
        ExpressionAttributeNames=named,
        **({"ExpressionAttributeValues": given} if given else {}),
    )
    return {
        name: value for name, value in account.tables.get_item(TableName=table, Key=KEY)["Item"].items() if name in item
    }


def calls_when_known(account: Account, owner: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return the calls of a function while a service answers the second time."""
    account.workflows.list_state_machines()
    calls = calls_of(owner, name, monkeypatch)
    account.workflows.list_state_machines()
    return calls


@pytest.mark.parametrize(
    ("expression", "values", "name", "after"),
    [
        ("SET #count = #count + :n", {"n": {"N": "2"}}, "count", {"N": "3"}),
        ("SET #count = if_not_exists(#count, :n)", {"n": {"N": "2"}}, "count", {"N": "1"}),
        ("SET #list = list_append(:l, #list)", {"l": {"L": [{"S": "y"}]}}, "list", {"L": [{"S": "y"}, {"S": "x"}]}),
        ("SET #list[0] = :s REMOVE #count", {"s": {"S": "y"}}, "list", {"L": [{"S": "y"}]}),
        ("SET #map.b = :s", {"s": {"S": "2"}}, "map", {"M": {"a": {"S": "1"}, "b": {"S": "2"}}}),
        ("SET #map.b = #map.a", {}, "map", {"M": {"a": {"S": "1"}, "b": {"S": "1"}}}),
        ("ADD #set :s REMOVE #map.a", {"s": {"SS": ["y"]}}, "map", {"M": {}}),
        ("ADD #count :n DELETE #set :s", {"n": {"N": "-1"}, "s": {"SS": ["z"]}}, "set", {"SS": ["x"]}),
    ],
)
def test_an_update_does_what_its_expression_says(
    account: Account, expression: str, values: dict[str, Any], name: str, after: Any
) -> None:
    assert updated(account, expression, **values)[name] == after


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ("SET #map.b = :none", "attribute value used in expression is not defined"),
        ("SET #map.b.c = #count", "document path provided in the update expression is invalid"),
        ("SET #count = #count SET #list = #list", 'The "SET" section can only be used once'),
        ("SET #map.a = #count, #map.a = #count", "Two document paths overlap"),
    ],
)
def test_a_wrong_expression_is_refused(account: Account, expression: str, complaint: str) -> None:
    with pytest.raises(ClientError, match=complaint):
        updated(account, expression)


@proof("expressions_are_walked_quickly")
def test_a_processor_is_asked_once_for_each_walk_what_it_wants(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = calls_of(DepthFirstTraverser, "nodes_to_be_processed", monkeypatch)

    updated(account, "SET #count = #count + :n, #map.b = :s", n={"N": "2"}, s={"S": "2"})

    assert len(asked) == PROCESSORS


@proof("trees_are_checked_from_their_root")
def test_an_update_s_clauses_are_counted_once(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = calls_of(validators.ActionCountValidator, "verify_action_counts", monkeypatch)

    updated(account, "SET #count = #count + :n, #map.b = :s", n={"N": "2"}, s={"S": "2"})

    assert len(asked) == 1


@proof("texts_are_compared_as_they_are")
def test_a_text_is_not_asked_what_else_it_is(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(DynamoType, "is_number", asked.append)

    assert DynamoType({"S": "a"}) == DynamoType({"S": "a"}) != DynamoType({"S": "b"})

    assert asked == []


@proof("conditions_are_parsed_once")
def test_a_condition_is_parsed_once_with_its_names_and_values(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = account.table()
    parsed = calls_of(ConditionExpressionParser, "_lex_condition_expression", monkeypatch)

    def put(text: str, expected: str) -> None:
        account.tables.put_item(
            TableName=table,
            Item={**KEY, "text": {"S": text}},
            ConditionExpression="attribute_not_exists(#a) OR #a = :a",
            ExpressionAttributeNames={"#a": "text"},
            ExpressionAttributeValues={":a": {"S": expected}},
        )

    put("x", "new")
    put("y", "x")
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        put("z", "x")

    assert len(parsed) == 2


def test_a_condition_that_leaves_out_a_name_is_refused_each_time(account: Account) -> None:
    table = account.table()

    for _ in range(2):
        with pytest.raises(ClientError, match="unused in expressions"):
            account.tables.put_item(
                TableName=table,
                Item=KEY,
                ConditionExpression="attribute_not_exists(#a)",
                ExpressionAttributeNames={"#a": "a", "#b": "b"},
            )


@proof("updates_are_parsed_once")
def test_an_update_s_text_is_parsed_once(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = calls_of(ExpressionTokenizer, "make_list", monkeypatch)

    for number in ("2", "3"):
        updated(account, "SET #count = :n REMOVE #list", n={"N": number})

    assert len(parsed) == 1


@proof("operations_are_listed_once")
def test_a_service_s_operations_are_listed_once(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    assert calls_when_known(account, inspect, "getmembers", monkeypatch) == []


@proof("accounts_are_found_at_once")
def test_an_account_that_is_there_is_not_made(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    assert calls_when_known(account, BackendDict, "_create_account_specific_backend", monkeypatch) == []


@proof("answers_are_made_once")
def test_what_answers_requests_is_made_for_the_first_account(account: Account) -> None:
    made: Any = vars(models)["CallbackResponse"]

    one, again = (made(method="GET", url="https://a.example/", callback=print) for _ in range(2))

    assert one is again
