"""Parameter mapping of an HTTP API's responses: headers that an integration changes, by status.

Pure. The source is the API Gateway developer guide, "Transform API requests and responses for HTTP APIs". Not
documented, and assumed here: a change comes after the renaming of a function's headers, and one without a value does
nothing.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

Headers = Sequence[tuple[str, str]]

# "You can't configure request or response header mappings for these headers."
_RESERVED = re.compile(
    r"access-control-.*|apigw-.*|authorization|connection|content-(encoding|length|location)|forwarded|keep-alive|origin|"
    r"proxy-authenticate|proxy-authorization|te|trailers|transfer-encoding|upgrade|x-amz-.*|x-amzn-.*|"
    r"x-forwarded-(for|host|proto)|via"
)
_DESTINATION = re.compile(r"(append|overwrite|remove):header\.([A-Za-z0-9-]+)")
_HEADER = "$response.header."


@dataclass(frozen=True)
class HeaderChange:
    """A change of one header; `source` is `$response.header.name` or a static value."""

    action: str  # append, overwrite, remove
    name: str
    source: str

    @classmethod
    def of(cls, destination: str, source: str) -> Self:
        """Return the change that a template describes.

        Raises:
            ValueError: the local stack does not serve it, or API Gateway refuses it.
        """
        found = _DESTINATION.fullmatch(destination)
        if found is None or (source.startswith("$") and not source.startswith(_HEADER)) or "${" in source:
            raise ValueError(
                f"{destination} from {source} is not served: only headers from headers or static values are"
            )
        names = [found[2].lower(), *([source.removeprefix(_HEADER).lower()] if source.startswith(_HEADER) else [])]
        if reserved := [name for name in names if _RESERVED.fullmatch(name)]:
            raise ValueError(f"the header {reserved[0]} is reserved")
        return cls(found[1], names[0], source)

    def of_headers(self, headers: Headers) -> Headers:
        """Return the headers of a response after this change."""
        value = self._value(headers)
        others = [pair for pair in headers if self.action == "append" or pair[0] != self.name]
        if self.action == "remove":
            return others
        return headers if value is None else [*others, (self.name, value)]

    def _value(self, headers: Headers) -> str | None:
        if not self.source.startswith(_HEADER):
            return self.source
        name = self.source.removeprefix(_HEADER).lower()
        return ",".join(value for key, value in headers if key == name) or None


def changes_of(parameters: Mapping[str, Any]) -> Mapping[int, Sequence[HeaderChange]]:
    """Return the changes by status that the property ResponseParameters describes.

    Raises:
        ValueError: one of them is not served here, or API Gateway refuses it.
    """
    listed = {
        int(status): cast("list[dict[str, str]]", one["ResponseParameters"]) for status, one in parameters.items()
    }
    return {
        status: [HeaderChange.of(change["Destination"], change["Source"]) for change in changes]
        for status, changes in listed.items()
    }


def changed(status: int, headers: Headers, changes: Mapping[int, Sequence[HeaderChange]]) -> Headers:
    """Return the headers of a response with this status after all changes, in their order."""
    for change in changes.get(status, ()):
        headers = change.of_headers(headers)
    return headers
