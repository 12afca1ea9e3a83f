"""Charges an order, unless the bank refuses it."""

from typing import Any


class Refused(Exception):
    error = "Bank.Refused"


def answer(given: dict[str, Any]) -> object:
    if given["RequestBody"]["order"] == "stolen":
        raise Refused("card reported stolen")
    return {"StatusCode": 200, "ResponseBody": {"charge": "ch-1"}}
