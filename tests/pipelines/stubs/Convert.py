"""Converts an order as the function in Node.js does."""


def answer(given, context):
    return {"pages": len(given["order"]), "asked_by": context["state_machine"]}
