"""Judge the questions to a client, and whether the client declared the capability to answer them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tests.wire_oracle.comparisons import (
    CLIENT_CAPABILITIES,
    ELICITATION,
    MODERN,
    TASKS_EXTENSION,
    Exchange,
    Json,
    check_core,
    check_members,
    check_schema,
    check_shape,
)


def check_input_requests(exchange: Exchange, requests: Json) -> None:
    """Check the questions of a task by the same rules as questions before there is a task."""
    asked = {"resultType": "input_required", "inputRequests": requests}
    check_core(Exchange({"method": "tools/call"}, asked, MODERN))
    for request in requests.values():
        _check_declared(exchange, request)
        if request["method"] == "elicitation/create":
            check_elicitation(request["params"], "ModernParams")
        elif request["method"] == "sampling/createMessage":
            check_sampling(request["params"])


def _check_declared(exchange: Exchange, asked: Json) -> None:
    """M44, M48: a question needs a capability that the client declares in this request."""
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
    check_schema(form)
    check_members(dict.fromkeys(form.get("required", [])), set(form["properties"]), "requestedSchema.required")


def check_sampling(params: Json) -> None:
    """M44: needs no capability inside sampling, and has one content block, as all types allow."""
    check_members(params, set(_SAMPLING_MEMBERS), "sampling")
    assert type(params["maxTokens"]) is int, "maxTokens must be written as an integer"
    assert params.get("includeContext", "none") == "none", "the request must not need sampling.context"
    kinds = {message["content"]["type"] for message in params["messages"]}
    assert kinds <= {"text", "image", "audio"}, f"the content must be text, image or audio, not {kinds}"


_SAMPLING_MEMBERS: Final = frozenset(
    {
        *("_meta", "messages", "maxTokens", "systemPrompt", "temperature", "stopSequences"),
        *("includeContext", "modelPreferences", "task"),
    }
)


def declared_tasks(exchange: Exchange) -> None:
    """X2, X24: the response uses the extension only if the request declares it."""
    extensions = _capabilities_of(exchange).get("extensions", {})
    assert TASKS_EXTENSION in extensions, f"the request does not declare {TASKS_EXTENSION}"


def _capabilities_of(exchange: Exchange) -> Json:
    return exchange.params.get("_meta", {}).get(CLIENT_CAPABILITIES, {})
