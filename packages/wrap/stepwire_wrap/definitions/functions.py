"""What the functions of JSONata do with their arguments."""

from typing import Final

from stepwire_wrap.definitions.reads import ANY, LIST, NUMBER, OBJECT, TEXT

ARGUMENTS: Final[dict[str, tuple[frozenset[str], ...]]] = {
    **dict.fromkeys(
        ("uppercase", "lowercase", "length", "trim", "base64encode", "base64decode", "toMillis", "parse", "eval"),
        (TEXT, ANY),
    ),
    **dict.fromkeys(
        ("encodeUrl", "encodeUrlComponent", "decodeUrl", "decodeUrlComponent", "substringBefore", "substringAfter"),
        (TEXT, TEXT),
    ),
    **dict.fromkeys(("contains", "split", "match", "replace"), (TEXT, ANY)),
    "substring": (TEXT, NUMBER),
    "pad": (TEXT, NUMBER, TEXT),
    "hash": (TEXT, TEXT),
    **dict.fromkeys(("abs", "floor", "ceil", "sqrt", "power", "round", "formatBase"), (NUMBER,)),
    "formatNumber": (NUMBER, TEXT),
    "formatInteger": (NUMBER, TEXT),
    "fromMillis": (NUMBER, TEXT),
    "range": (NUMBER,),
    **dict.fromkeys(
        ("sum", "max", "min", "average", "count", "reverse", "shuffle", "distinct", "sort", "zip", "join"),
        (LIST, ANY),
    ),
    **dict.fromkeys(("map", "filter", "single", "reduce", "partition"), (LIST, ANY)),
    **dict.fromkeys(("keys", "spread", "each", "sift", "lookup"), (OBJECT, ANY)),
}
"""The types of the arguments; the last one stands for all that follow."""

UNDEFINED_WITHOUT: Final = frozenset(
    {
        *("string", "number", "uppercase", "lowercase", "length", "trim", "substring", "substringBefore", "pad"),
        *("substringAfter", "split", "match", "replace", "contains", "base64encode", "base64decode", "toMillis"),
        *("abs", "floor", "ceil", "sqrt", "power", "round", "fromMillis", "formatNumber", "parse", "hash"),
        *("sum", "max", "min", "average", "lookup", "keys", "map", "filter", "reduce"),
    }
)
"""The functions that give nothing if their first argument is missing, so that the state fails."""
