"""Judge what a client is asked, and whether it declared that it can be asked so."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from jsonschema import Draft202012Validator

from tests.wire_oracle.comparisons import (
    CLIENT_CAPABILITIES,
    ELICITATION,
    MODERN,
    TASKS_EXTENSION,
    Exchange,
    Json,
    check_core,
    check_members,
    check_shape,
)


def check_input_requests(exchange: Exchange, requests: Json) -> None:
    """Judge them as the same requests are judged that a tools/call asks before there is a task."""
    asked = {"resultType": "input_required", "inputRequests": requests}
    check_core(Exchange({"method": "tools/call"}, asked, MODERN))
    for request in requests.values():
        _check_declared(exchange, request)
        if request["method"] == "elicitation/create":
            check_elicitation(request["params"], "ModernParams")
        elif request["method"] == "sampling/createMessage":
            check_sampling(request["params"])


def _check_declared(exchange: Exchange, asked: Json) -> None:
    """M44, M48: nothing is asked in a way that the client does not declare in this very request."""
    kind = CAPABILITY_TO_ANSWER[asked["method"]]
    declared = _capabilities_of(exchange).get(kind)
    assert declared is not None, f"the request does not declare {kind}"
    if kind == "elicitation":
        mode = asked["params"].get("mode", "form")
        assert mode in (declared.keys() & {"form", "url"} or {"form"}), f"the request does not declare {kind}.{mode}"


CAPABILITY_TO_ANSWER: Final[Mapping[str, str]] = MappingProxyType(
    {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
)


def check_elicitation(params: Json, shape: str) -> None:
    """M47, M49, L19."""
    check_shape(params, ELICITATION, shape)
    if params.get("mode") == "url":
        return
    form = params["requestedSchema"]
    Draft202012Validator.check_schema(form)
    check_members(dict.fromkeys(form.get("required", [])), set(form["properties"]), "requestedSchema.required")


def check_sampling(params: Json) -> None:
    """M44: nothing that needs a capability within sampling, and one content block, as all types allow."""
    check_members(params, set(_SAMPLING_MEMBERS), "sampling")
    assert type(params["maxTokens"]) is int, "maxTokens must be written as an integer"
    assert params.get("includeContext", "none") == "none", "sampling.context is not asked for"
    kinds = {message["content"]["type"] for message in params["messages"]}
    assert kinds <= {"text", "image", "audio"}, f"not every client knows content of {kinds}"


_SAMPLING_MEMBERS: Final = frozenset(
    {
        *("_meta", "messages", "maxTokens", "systemPrompt", "temperature", "stopSequences"),
        *("includeContext", "modelPreferences", "task"),
    }
)


def declared_tasks(exchange: Exchange) -> None:
    """X2, X24: nothing of the extension for a request that does not declare it."""
    extensions = _capabilities_of(exchange).get("extensions", {})
    assert TASKS_EXTENSION in extensions, f"the request does not declare {TASKS_EXTENSION}"


def _capabilities_of(exchange: Exchange) -> Json:
    return exchange.params.get("_meta", {}).get(CLIENT_CAPABILITIES, {})
