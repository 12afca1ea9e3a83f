"""Conditional writes: the one expected error of DynamoDB, told from all others."""

from typing import TypeGuard, cast

from botocore.exceptions import ClientError

from stepwire.aws.storage.items import Item


def is_failed_condition(error: Exception) -> TypeGuard[ClientError]:
    """Tell whether DynamoDB refused a write because its condition does not hold, so nothing was written."""
    return isinstance(error, ClientError) and _code(error) == "ConditionalCheckFailedException"


def item_found(error: ClientError) -> Item:
    """Return the item that failed the condition, empty where there is none.

    The write must have asked for it with `ReturnValuesOnConditionCheckFailure="ALL_OLD"`.
    """
    return cast(Item, error.response.get("Item") or {})


def _code(error: ClientError) -> str | None:
    return error.response.get("Error", {}).get("Code")
