"""Charges an order, unless the bank refuses it."""


class Refused(Exception):
    error = "Bank.Refused"


def answer(given):
    if given["RequestBody"]["order"] == "stolen":
        raise Refused("card reported stolen")
    return {"StatusCode": 200, "ResponseBody": {"charge": "ch-1"}}
