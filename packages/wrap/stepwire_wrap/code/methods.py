"""What the methods and functions of Python and JavaScript do with a value of the event."""

from typing import Final

_TEXT: Final = frozenset({"string"})
_LIST: Final = frozenset({"array"})
_OBJECT: Final = frozenset({"object"})

NEEDS: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys(
        (
            *("lower", "upper", "strip", "lstrip", "rstrip", "startswith", "endswith", "split", "rsplit", "encode"),
            *("splitlines", "isdigit", "isnumeric", "isalpha", "isalnum", "title", "capitalize", "zfill", "partition"),
            *("rpartition", "casefold", "removeprefix", "removesuffix", "toLowerCase", "toUpperCase", "trim"),
            *("trimStart", "trimEnd", "startsWith", "endsWith", "substring", "substr", "charAt", "charCodeAt"),
            *("padStart", "padEnd", "localeCompare", "matchAll", "replaceAll", "replace", "match"),
        ),
        _TEXT,
    ),
    **dict.fromkeys(("append", "extend", "sort", "insert", "push", "unshift", "shift", "splice", "fill"), _LIST),
    **dict.fromkeys(("toFixed", "toPrecision"), frozenset({"number"})),
}
"""The type that a value must have for its method."""

OF_ITEMS: Final = frozenset(
    {"map", "forEach", "filter", "find", "some", "every", "flatMap", "findIndex", "findLast", "sort"}
)
"""Methods of a list that call a function with each item."""

CHANGES: Final = frozenset(
    {"update", "pop", "popitem", "setdefault", "clear", "append", "extend", "insert", "remove", "sort", "reverse",
     "push", "unshift", "shift", "splice", "fill"}
)  # fmt: skip
"""Methods that change the value that has them."""

OF_KEYS: Final = frozenset({"items", "keys", "values"})
"""Methods of an object whose keys are data."""

MEMBERS: Final = frozenset({"get", "pop", "setdefault"})
"""Methods that return a member, or what is given for a missing one."""

SAME: Final = frozenset(
    {"copy", "dict", "list", "tuple", "sorted", "reversed", "set", "copy.copy", "copy.deepcopy", "deepcopy",
     "structuredClone", "Object.freeze", "iter", "Array.from", "Promise.resolve", "ensureArray"}
)  # fmt: skip
"""Functions that return what they are given, or its equal."""

MERGES: Final = "Object.assign"
"""The function that puts the members of objects into its first argument."""

PARSES: Final = frozenset({"json.loads", "JSON.parse", "loads", "orjson.loads", "simplejson.loads", "ujson.loads"})
"""Functions that read a JSON text."""

KEYS: Final = frozenset({"Object.keys", "Object.values", "Object.entries"})
"""Functions of an object whose keys are data."""

TEXTS: Final[dict[str, frozenset[str]]] = dict.fromkeys(
    ("datetime.fromisoformat", "datetime.strptime", "datetime.datetime.fromisoformat", "datetime.datetime.strptime",
     "base64.b64decode", "date.fromisoformat", "re.match", "re.search"),
    _TEXT,
)  # fmt: skip
"""Functions whose arguments are texts."""

TYPE_TESTS: Final = frozenset({"isinstance", "type", "typeof", "callable", "hasattr"})
"""Functions that tell a value's type."""

# A text of digits is right too, so that both are allowed; and a fraction, because many moments are cut this way.
NUMBERS: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys(
        ("int", "float", "Decimal", "decimal.Decimal", "Number", "parseInt", "parseFloat", "Number.parseInt",
         "Number.parseFloat", "Math.round", "Math.floor", "Math.ceil"),
        frozenset({"number", "string"}),
    ),
    **dict.fromkeys(("round", "abs"), frozenset({"number"})),
}  # fmt: skip
"""Functions that make a number of their first argument, with its types. A missing one makes no number, or an error."""

HARMLESS: Final = frozenset(
    {"str", "len", "bool", "String", "Boolean", "isNaN", "Number.isNaN", "Number.isInteger", "max", "min", "sum",
     "any", "all", "range", "repr", "id", "hash", "Math.max", "Math.min",
     "Date", "BigInt", "encodeURIComponent", "decodeURIComponent", "time.sleep", "os.path.join",
     "path.join", "uuid.UUID", "isEmpty", "datetime.fromtimestamp"}
)  # fmt: skip
"""Functions that look at a value, and at no member of it."""

LOGS: Final = frozenset(
    {"print", "pprint", "console", "logger", "log", "logging", "LOGGER", "LOG", "_logger", "tracer", "metrics", "Log",
     "Logger", "util", "debug", "context", "segment", "subsegment"}
)  # fmt: skip
"""What only writes down what it is given: the name of a function, or of what has the method."""

WRAPPERS_THAT_CHANGE_NOTHING: Final = frozenset(
    {"inject_lambda_context", "capture_lambda_handler", "log_metrics", "capture_method", "wraps", "xray_recorder",
     "capture", "typing_override", "override", "staticmethod", "classmethod", "logger_inject_lambda_context"}
)  # fmt: skip
"""Decorators that hand the event on as it is, and let errors through."""

EVENT_PARSERS: Final = frozenset({"event_parser", "parse", "model_validate", "parse_obj", "validate_python"})
"""Functions and decorators that check a value against a model."""
