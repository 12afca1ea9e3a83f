"""What may be asked and answered, as JSON Schemas: only what the types of both eras have, so no client refuses it.

Each schema is JSON text, as `violations_of` takes it. Members are bounded here; sizes in bytes are checked in `inputs`.
"""

from typing import Final

from stepwire.json_text import Json, JsonObject, write

LONGEST_QUESTION: Final = 4_000  # characters
LONGEST_URL: Final = 2_000  # characters
MOST_MESSAGES: Final = 100  # of one request for sampling
MOST_TOKENS: Final = 1_000_000  # that the client's model may be asked for
_TEXT: Final[JsonObject] = {"type": "string"}
_COUNT: Final[JsonObject] = {"type": "integer", "minimum": 0}
_NUMBER: Final[JsonObject] = {"type": "number"}
_TEXTS: Final[JsonObject] = {"type": "array", "items": _TEXT, "minItems": 1}


def _closed(required: JsonObject, optional: JsonObject) -> JsonObject:
    properties = {**required, **optional}
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _field(kind: Json, default: JsonObject, required: JsonObject, optional: JsonObject | None = None) -> JsonObject:
    described = {"title": _TEXT, "description": _TEXT, "default": default}
    return _closed({"type": kind, **required}, {**described, **(optional or {})})


_TITLED: Final[JsonObject] = {"type": "array", "minItems": 1, "items": _closed({"const": _TEXT, "title": _TEXT}, {})}
_CHOICES: Final[JsonObject] = {"type": "array", "items": _TEXT}
_IS_STRING: Final[JsonObject] = {"const": "string"}
_IS_ARRAY: Final[JsonObject] = {"const": "array"}
_FORMATS: Final[JsonObject] = {"enum": ["email", "uri", "date", "date-time"]}
# M47: what the schemas of both eras allow, and no more; clients refuse the rest.
_PROPERTY: Final[JsonObject] = {
    "anyOf": [
        _field(_IS_STRING, _TEXT, {}, {"minLength": _COUNT, "maxLength": _COUNT, "format": _FORMATS}),
        _field({"enum": ["number", "integer"]}, _NUMBER, {}, {"minimum": _NUMBER, "maximum": _NUMBER}),
        _field({"const": "boolean"}, {"type": "boolean"}, {}),
        _field(_IS_STRING, _TEXT, {"enum": _TEXTS}, {"enumNames": _TEXTS}),
        _field(_IS_STRING, _TEXT, {"oneOf": _TITLED}),
        _field(
            _IS_ARRAY,
            _CHOICES,
            {"items": {"anyOf": [_closed({"type": _IS_STRING, "enum": _TEXTS}, {}), _closed({"anyOf": _TITLED}, {})]}},
            {"minItems": _COUNT, "maxItems": _COUNT},
        ),
    ]
}
_MESSAGE: Final[JsonObject] = {"type": "string", "minLength": 1, "maxLength": LONGEST_QUESTION}
_REQUESTED_SCHEMA: Final = _closed(
    {"type": {"const": "object"}, "properties": {"type": "object", "additionalProperties": _PROPERTY}},
    {"$schema": _TEXT, "required": {"type": "array", "items": _TEXT}},
)
FORM_PARAMS: Final = write(
    _closed({"message": _MESSAGE, "requestedSchema": _REQUESTED_SCHEMA}, {"mode": {"const": "form"}})
)
URL_PARAMS: Final = write(
    _closed({"mode": {"const": "url"}, "message": _MESSAGE, "url": {"type": "string", "maxLength": LONGEST_URL}}, {})
)


# M44: what the schemas of both eras allow without further capabilities, and no more.
_BASE64: Final[JsonObject] = {
    "type": "string",
    "pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
    "minLength": 1,
}


def _media(kind: str) -> JsonObject:
    mime_type: JsonObject = {"type": "string", "pattern": f"^{kind}/[A-Za-z0-9.+-]+$", "maxLength": 100}
    return {"type": {"const": kind}, "data": _BASE64, "mimeType": mime_type}


_BLOCKS: Final = ({"type": {"const": "text"}, "text": _TEXT}, _media("image"), _media("audio"))
_PART: Final[JsonObject] = {"type": "number", "minimum": 0, "maximum": 1}
_ROLE: Final[JsonObject] = {"enum": ["user", "assistant"]}
_SHORT: Final[JsonObject] = {"type": "string", "minLength": 1, "maxLength": 200}
_HINTS: Final[JsonObject] = {"type": "array", "items": _closed({"name": _SHORT}, {}), "maxItems": 10}
SAMPLING_PARAMS: Final = write(
    _closed(
        {
            "messages": {
                "type": "array",
                "items": _closed({"role": _ROLE, "content": {"anyOf": [_closed(one, {}) for one in _BLOCKS]}}, {}),
                "minItems": 1,
                "maxItems": MOST_MESSAGES,
            },
            "maxTokens": {"type": "integer", "minimum": 1, "maximum": MOST_TOKENS},
        },
        {
            "systemPrompt": _TEXT,
            "temperature": {"type": "number", "minimum": 0, "maximum": 2},
            "stopSequences": {"type": "array", "items": _SHORT, "maxItems": 10},
            "includeContext": {"const": "none"},
            "modelPreferences": _closed(
                {}, {"hints": _HINTS, "costPriority": _PART, "speedPriority": _PART, "intelligencePriority": _PART}
            ),
        },
    )
)
# A block of a result may have annotations and metadata.
_SAMPLED_BLOCK: Final[JsonObject] = {
    "anyOf": [{"type": "object", "properties": one, "required": list(one)} for one in _BLOCKS]
}
SAMPLED: Final = write(
    {
        "type": "object",
        "properties": {
            "role": {"const": "assistant"},
            "model": _TEXT,
            "content": {"anyOf": [_SAMPLED_BLOCK, {"type": "array", "items": _SAMPLED_BLOCK, "minItems": 1}]},
            "stopReason": _TEXT,
        },
        "required": ["role", "model", "content"],
    }
)
_ROOT: Final[JsonObject] = {
    "type": "object",
    "properties": {"uri": {"type": "string", "pattern": "^file://"}, "name": _TEXT},
    "required": ["uri"],
}
LISTED: Final = write(
    {"type": "object", "properties": {"roots": {"type": "array", "items": _ROOT}}, "required": ["roots"]}
)
