"""State machines whose inputs are known: a definition, right inputs by chance, and wrong ones made of right ones.

Half of them tell much by their definition; the others pass their input to a function, as most do.
"""

import random
import string
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

Input = dict[str, Any]


@dataclass(frozen=True)
class Workload:
    """A state machine, and what it may be given."""

    name: str
    definition: Input
    right: Callable[[random.Random], Input]
    wrong: tuple[Callable[[Input], None], ...]
    """Each makes a right input wrong."""


def wrongs(workload: Workload, chance: random.Random) -> Input:
    """Return an input with which the workflow cannot work."""
    given = deepcopy(workload.right(chance))
    chance.choice(workload.wrong)(given)
    return given


def _lambda(to: str | None = None) -> Input:
    ends = {"Next": to} if to else {"End": True}
    parameters = {"FunctionName": "work", "Payload.$": "$"}
    return {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Parameters": parameters, **ends}


def _only_function() -> Input:
    return {"StartAt": "Work", "States": {"Work": _lambda()}}


def _without(*path: str) -> Callable[[Input], None]:
    def change(given: Any) -> None:
        for step in path[:-1]:
            given = given[step]
        given.pop(path[-1])

    return change


def _with(value: Any, *path: str | int) -> Callable[[Input], None]:
    def change(given: Any) -> None:
        for step in path[:-1]:
            given = given[step]
        given[path[-1]] = value

    return change


def _happens(chance: random.Random, share: float) -> bool:
    return chance.random() < share


def _word(chance: random.Random) -> str:
    return "".join(chance.choices(string.ascii_lowercase, k=chance.randint(3, 12)))


def _order(chance: random.Random) -> Input:
    lines = [{"sku": _word(chance), "quantity": chance.randint(1, 9)} for _ in range(chance.randint(1, 4))]
    order: Input = {"orderId": _word(chance), "lines": lines, "total": chance.randint(1, 5000)}
    if _happens(chance, 0.5):
        order["total"] += 0.5
    return order | ({"coupon": _word(chance)} if _happens(chance, 0.3) else {})


_ORDERS: Final = Workload(
    "orders: Map, Choice and Wait in JSONPath",
    {
        "StartAt": "PriceLines",
        "States": {
            "PriceLines": {
                "Type": "Map",
                "ItemsPath": "$.lines",
                "Parameters": {"sku.$": "$$.Map.Item.Value.sku", "quantity.$": "$$.Map.Item.Value.quantity"},
                "Iterator": _only_function(),
                "ResultPath": "$.prices",
                "Next": "IsLarge",
            },
            "IsLarge": {
                "Type": "Choice",
                "Choices": [
                    {"Variable": "$.total", "NumericLessThanEquals": 0, "Next": "Invalid"},
                    {"Variable": "$.total", "NumericGreaterThan": 1000, "Next": "Approve"},
                ],
                "Default": "Ship",
            },
            "Invalid": {"Type": "Fail", "Error": "InvalidOrder"},
            "Approve": {**_lambda("Ship"), "ResultPath": "$.approval"},
            "Ship": {"Type": "Pass", "Parameters": {"id.$": "$.orderId"}, "End": True},
        },
    },
    _order,
    (
        _without("orderId"),
        _without("lines"),
        _without("total"),
        _with("many", "total"),
        _with(0, "total"),
        _with("one", "lines"),
        _with({"sku": "a"}, "lines", 0),
    ),
)


def _refund(chance: random.Random) -> Input:
    refund: Input = {"order_id": _word(chance), "amount": round(chance.uniform(1, 900), 2), "currency": "EUR"}
    return refund | ({"answer_within_seconds": chance.randint(60, 9000)} if _happens(chance, 0.6) else {})


_REFUNDS: Final = Workload(
    "refunds: JSONata with variables and an optional argument",
    {
        "QueryLanguage": "JSONata",
        "StartAt": "Check",
        "States": {
            "Check": {
                "Type": "Task",
                "Resource": "arn:aws:states:::lambda:invoke",
                "Arguments": {"FunctionName": "check", "Payload": "{% $states.input %}"},
                "Assign": {
                    "refund": "{% $states.input %}",
                    "seconds": "{% $exists($states.input.answer_within_seconds) ? "
                    "$states.input.answer_within_seconds : 86400 %}",
                },
                "Next": "Wait",
            },
            "Wait": {"Type": "Wait", "Seconds": "{% $seconds %}", "Next": "Done"},
            "Done": {
                "Type": "Pass",
                "Output": {"id": "{% $refund.order_id %}", "cents": "{% $refund.amount * 100 %}"},
                "End": True,
            },
        },
    },
    _refund,
    (
        _without("order_id"),
        _without("amount"),
        _with("much", "amount"),
        _with([], "amount"),
        _with("long", "answer_within_seconds"),
    ),
)


def _upload(chance: random.Random) -> Input:
    key = {"key": f"{_word(chance)}/{_word(chance)}.csv", "size": chance.randint(1, 10**6)}
    return {"detail-type": "Object Created", "detail": {"bucket": {"name": _word(chance)}, "object": key}}


_UPLOADS: Final = Workload(
    "uploads: an event of S3, read by a service's parameters",
    {
        "StartAt": "Read",
        "States": {
            "Read": {
                "Type": "Task",
                "Resource": "arn:aws:states:::aws-sdk:s3:getObject",
                "Parameters": {"Bucket.$": "$.detail.bucket.name", "Key.$": "$.detail.object.key"},
                "End": True,
            }
        },
    },
    _upload,
    (
        _without("detail"),
        _without("detail", "bucket"),
        _without("detail", "object", "key"),
        _with(7, "detail", "object", "key"),
        _with("here", "detail", "bucket"),
    ),
)


def _request(chance: random.Random) -> Input:
    method = chance.choice(("GET", "PUT", "DELETE"))
    body = {"body": {"text": _word(chance)}} if method == "PUT" else {}
    return {"method": method, "id": str(chance.randint(1, 99)), **body}


def _table(action: str, **parameters: Any) -> Input:
    more = {"TableName": "items", **parameters}
    return {"Type": "Task", "Resource": f"arn:aws:states:::dynamodb:{action}", "Parameters": more, "End": True}


def _method(word: str, to: str) -> Input:
    return {"Variable": "$.method", "StringEquals": word, "Next": to}


_REQUESTS: Final = Workload(
    "requests: a Choice of three ways, and nothing else",
    {
        "StartAt": "Which",
        "States": {
            "Which": {
                "Type": "Choice",
                "Choices": [_method("GET", "Get"), _method("PUT", "Put"), _method("DELETE", "Delete")],
            },
            "Get": _table("getItem", Key={"id": {"S.$": "$.id"}}),
            "Put": _table("putItem", Item={"id": {"S.$": "$.id"}, "text": {"S.$": "$.body.text"}}),
            "Delete": _table("deleteItem", Key={"id": {"S.$": "$.id"}}),
        },
    },
    _request,
    (_without("method"), _with("PATCH", "method"), _with(1, "id"), _without("id"), _with("text", "body")),
)


def _customer(chance: random.Random) -> Input:
    customer: Input = {"id": _word(chance), "age": chance.randint(18, 90), "vip": _happens(chance, 0.2)}
    if _happens(chance, 0.9):
        customer["address"] = {"city": _word(chance), "zip": str(chance.randint(10_000, 99_999))}
    if _happens(chance, 0.5):
        customer["tags"] = [_word(chance) for _ in range(chance.randint(0, 3))]
    return customer | {"note": None if _happens(chance, 0.5) else _word(chance)}


_CUSTOMERS: Final = Workload(
    "customers: passed to a function; members that are often, seldom or null",
    _only_function(),
    _customer,
    (
        _without("id"),
        _without("age"),
        _with("old", "age"),
        _with("yes", "vip"),
        _with(5, "id"),
        _with([], "address"),
        _with({"a": 1}, "tags"),
    ),
)


def _prices(chance: random.Random) -> Input:
    return {
        "currency": chance.choice(("EUR", "USD")),
        "by_customer": {f"customer-{chance.randint(1, 10**6)}": chance.choice((10, 20, 9.5)) for _ in range(3)},
        "day": f"2026-0{chance.randint(1, 9)}-1{chance.randint(0, 9)}",
    }


_PRICES: Final = Workload(
    "prices: passed to a function; an object whose keys are data",
    _only_function(),
    _prices,
    (_without("by_customer"), _without("currency"), _with("tomorrow", "day"), _with(3, "by_customer")),
)


def _mixed(chance: random.Random) -> Input:
    mixed: Input = {"ref": chance.choice((_word(chance), chance.randint(1, 10**6))), "amount": chance.randint(1, 50)}
    if _happens(chance, 0.1):
        mixed["amount"] += 0.25
    return mixed | ({"dry_run": True} if _happens(chance, 0.03) else {})


_MIXED: Final = Workload(
    "mixed: passed to a function; text or number, seldom a fraction, a rare flag",
    _only_function(),
    _mixed,
    (_without("ref"), _without("amount"), _with({}, "ref"), _with("many", "amount"), _with([1], "amount")),
)

WORKLOADS: Final = (_ORDERS, _REFUNDS, _UPLOADS, _REQUESTS, _CUSTOMERS, _PRICES, _MIXED)
