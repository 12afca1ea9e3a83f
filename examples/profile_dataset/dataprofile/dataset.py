"""The dataset that a caller names: its text, and one work item per column.

The rule: a Map item contains the values of its column only if the dataset came inline. For an object in S3, the item
has the URI and the ETag instead: payloads stay small, and every function reads the same content or fails.
"""

import codecs
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from . import limits
from .errors import DatasetInvalid, DatasetTooLarge
from .storage import fetch
from .table import DELIMITERS, Column, Shape, Table, find_delimiter, read_column, read_shape, values_at

MISSING_VALUES: Final = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")
"""What stands for a missing value where the caller does not say."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Inline:
    """CSV text from the call itself."""

    text: str


@dataclass(frozen=True)
class Stored:
    """CSV text from S3; the etag is that of this text."""

    text: str
    uri: str
    etag: str


def describe(event: Mapping[str, Any], bucket: str) -> Json:
    """Return the shape of the dataset that the tool's arguments name, and an item for each column.

    Raises:
        DatasetError: the dataset cannot be read.
    """
    source = _source(event, bucket)
    delimiter = _delimiter(event, source.text)
    shape = read_shape(Table(source.text, delimiter))
    return {
        "source": source.uri if isinstance(source, Stored) else "inline",
        "delimiter": delimiter,
        "rows": shape.rows,
        "short_rows": shape.short_rows,
        "missing_values": list(event.get("missing_values", MISSING_VALUES)),
        "columns": _items(source, delimiter, shape),
    }


def column_of(item: Mapping[str, Any], bucket: str) -> Column:
    """Return the values of an item's column.

    Raises:
        DatasetError: the dataset can no longer be read.
    """
    if "values" in item:
        return Column(item["values"], item["rows"])
    content = fetch(item["s3_uri"], bucket, item["etag"]).content
    return read_column(Table(_decoded(content), item["delimiter"]), item["position"])


def _source(event: Mapping[str, Any], bucket: str) -> Inline | Stored:
    if ("csv" in event) == ("s3_uri" in event):
        raise DatasetInvalid("Give either csv or s3_uri, and not both.")
    if "csv" in event:
        return Inline(_inline_text(event["csv"]))
    stored = fetch(event["s3_uri"], bucket)
    return Stored(_decoded(stored.content), event["s3_uri"], stored.etag)


def _inline_text(text: str) -> str:
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise DatasetInvalid(f"Character {error.start:,} of csv is half of a surrogate pair.") from error
    if size > limits.INLINE_BYTES:
        raise DatasetTooLarge(
            f"csv has {size:,} bytes; inline at most {limits.INLINE_BYTES:,} are accepted. "
            "Put the file in S3 and give its s3_uri."
        )
    return text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")


def _decoded(content: bytes) -> str:
    try:
        return content.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        raise DatasetInvalid(f"Byte {error.start:,} of the file is not UTF-8. Save it as UTF-8.") from error


def _delimiter(event: Mapping[str, Any], text: str) -> str:
    delimiter = cast("str", event.get("delimiter")) or find_delimiter(text)
    if delimiter not in DELIMITERS:
        raise DatasetInvalid(f"The delimiter must be one of {', '.join(map(repr, DELIMITERS))}.")
    return delimiter


def _items(source: Inline | Stored, delimiter: str, shape: Shape) -> list[Json]:
    names = enumerate(shape.names, start=1)
    if isinstance(source, Stored):
        pointer = {"s3_uri": source.uri, "etag": source.etag, "delimiter": delimiter}
        return [{"position": position, "name": name, **pointer} for position, name in names]
    rows = list(Table(source.text, delimiter).rows())
    return [
        {"position": position, "name": name, "rows": shape.rows, "values": values_at(rows, position)}
        for position, name in names
    ]
