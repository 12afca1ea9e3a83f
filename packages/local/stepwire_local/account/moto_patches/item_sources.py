"""What a Distributed Map makes of the content of an object, by its ReaderConfig. Pure: it is given what reads more.

The rule: a stub may answer with the items themselves, or with the content as text.
"""

import csv
import gzip
import io
import json
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

Get = Callable[[str, str], bytes]
"""Returns an object by its bucket and its key."""

_DELIMITERS: Final = {"COMMA": ",", "PIPE": "|", "SEMICOLON": ";", "SPACE": " ", "TAB": "\t"}
_GZIP: Final = b"\x1f\x8b"


class Unreadable(Exception):
    """The content is not what the ReaderConfig says; the message says why."""


def items_of(content: Any, config: Mapping[str, Any], get: Get) -> list[Any]:
    """Return the items that an object or a list of objects has. `get` reads further objects, which a manifest names.

    Raises:
        Unreadable: it has no items, or another form than `config` says.
    """
    if not isinstance(content, bytes | str):
        return _listed(content, config)
    raw = content.encode() if isinstance(content, str) else content
    data = gzip.decompress(raw) if raw.startswith(_GZIP) else raw
    kind = str(config.get("InputType", "JSON")).upper()
    if kind not in _READERS:
        raise Unreadable(f"InputType {kind} is not served here; a stub can answer with the items")
    try:
        return _READERS[kind](data.decode("utf-8-sig"), config, get)
    except (ValueError, KeyError, IndexError) as error:
        raise Unreadable(f"The content is no {kind}: {error}") from error


def _listed(value: Any, config: Mapping[str, Any]) -> list[Any]:
    for step in str(config.get("ItemsPointer", "")).split("/")[1:]:
        value = value[int(step) if isinstance(value, list) else step]
    if isinstance(value, Mapping):  # as ListObjectsV2 answers
        value = cast("Mapping[str, Any]", value).get("Contents")
    if not isinstance(value, list):
        raise Unreadable("Attempting to map over non-iterable node.")
    return cast("list[Any]", value)


def _json(text: str, config: Mapping[str, Any], get: Get) -> list[Any]:
    del get
    return _listed(json.loads(text), config)


def _json_lines(text: str, config: Mapping[str, Any], get: Get) -> list[Any]:
    del config, get
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _csv(text: str, config: Mapping[str, Any], get: Get) -> list[Any]:
    del get
    delimiter = _DELIMITERS[str(config.get("CSVDelimiter", "COMMA")).upper()]
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if row]
    is_given = config.get("CSVHeaderLocation") == "GIVEN"
    headers: list[str] = config["CSVHeaders"] if is_given else rows[0]
    if len(set(headers)) < len(headers):
        raise Unreadable("CSV headers cannot contain duplicates.")
    return [
        {header: row[place] if place < len(row) else "" for place, header in enumerate(headers)}
        for row in rows[0 if is_given else 1 :]
    ]


def _inventory(text: str, config: Mapping[str, Any], get: Get) -> list[Any]:
    """Return the objects that the files of an S3 inventory list."""
    manifest = json.loads(text)
    headers = [name.strip() for name in manifest["fileSchema"].split(",")]
    bucket = manifest["destinationBucket"].rpartition(":")[2]
    given = {**config, "InputType": "CSV", "CSVHeaderLocation": "GIVEN", "CSVHeaders": headers}
    return [item for file in manifest["files"] for item in items_of(get(bucket, file["key"]), given, get)]


_READERS: Final[Mapping[str, Callable[[str, Mapping[str, Any], Get], list[Any]]]] = {
    "JSON": _json,
    "JSONL": _json_lines,
    "CSV": _csv,
    "MANIFEST": _inventory,
}
