"""The requests and answers that went over the wire, as the console shows them; most are messages of MCP.

The rules: memory is bounded, the oldest go first; no secret is kept: tokens, passwords, cookies and signing secrets are
replaced before anything is stored. A message without secrets is kept as it was sent, to the letter.
"""

import json
import re
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, cast

from stepwire_local.gateway.exchanges import Exchange, HttpLine, Reader, RequestLine

LONGEST: Final = 64 * 1024  # characters of a body
MOST_BYTES: Final = 8 * 1024 * 1024  # characters of all bodies and headers together
MOST: Final = 2_000
REDACTED: Final = "[redacted]"

# The last words of a name whose value is secret, as in `client_secret`, `x-amz-security-token`, `secretAccessKey`.
_HIDDEN: Final = (
    r"tokens?|secrets?|pass(?:word|wd|phrase)s?|pwd|authorization|credentials?|cookies?"
    r"|(?:api|secret|private|access)[-_ ]?key|request[-_ ]?state"
)
_SECRET_NAME: Final = re.compile(rf"(?:.*[-_ ])?(?:{_HIDDEN})", re.I)
_CAPITALS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NO_SECRETS: Final = frozenset(("progresstoken",))
_SECRET_TEXT: Final = re.compile(
    r"(?i:bearer)\s+[\w.~+/=-]{8,}|\beyJ[\w-]{5,}\.[\w-]+\.[\w-]*|\bwhsec_[\w+/=-]+|(?<=X-Amz-Signature=)[0-9a-f]+"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{35}|\bsk-[\w-]{20,}|\bgh[a-z]_\w{30,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{20,}"
    r"|\bxox[a-z]-[\w-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
# A pair in text that is no JSON, such as JSON that is cut off, or a form; its value may be a list or an object.
_PAIR: Final = re.compile(
    rf"""((?:{_HIDDEN})\\*["']?\s*[:=]\s*)(\{{[^}}]*|\[[^\]]*|\\*"[^"\\]*|[^\s&"\\{{\[]+)""", re.I
)
# The same in words for people, who write `token: ...` of other things too: a secret has a digit.
_PAIR_IN_WORDS: Final = re.compile(rf"((?:{_HIDDEN})\s*[:=]\s*)((?=\S*\d)[^\s&]{{6,}})", re.I)


@dataclass(frozen=True)
class Message:
    """A request over HTTP and its response; one that is no message of MCP has no era, client, tool or task."""

    number: int
    time: str
    era: str
    client: str
    method: str
    tool: str
    task: str
    status: int
    milliseconds: int
    error: str
    request_line: str
    request_headers: Sequence[tuple[str, str]]
    request: str
    response_headers: Sequence[tuple[str, str]]
    response: str

    @property
    def length(self) -> int:
        """Return how many characters it holds."""
        headers = (*self.request_headers, *self.response_headers)
        return len(self.request) + len(self.response) + sum(len(name) + len(value) for name, value in headers)

    def concerns(self, task_id: str) -> bool:
        """Return whether a task is named in it."""
        return task_id == self.task or task_id in self.request or task_id in self.response

    def for_page(self) -> dict[str, Any]:
        """Return it as JSON."""
        return asdict(self)


class Messages:
    """The last messages. Thread-safe.

    Args:
        most: How many are kept.
        most_bytes: Characters of all bodies and headers that are kept.
        first: Number of the first one. A page that stays open while the stack starts again asks for what is behind the
            last number that it knows, so a later start begins with a higher one.
    """

    def __init__(self, most: int = MOST, most_bytes: int = MOST_BYTES, first: int = 1) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._kept: deque[Message] = deque()
        self._bytes = 0
        self._next = first
        self._reader = Reader()
        self._turn = threading.Lock()

    def add(self, exchange: Exchange) -> None:
        """Keep an exchange."""
        with self._turn:
            message = _message(exchange, self._reader, self._next)
            self._next += 1
            self._kept.append(message)
            self._bytes += message.length
            while len(self._kept) > self._most or self._bytes > self._most_bytes:
                self._bytes -= self._kept.popleft().length

    def after(self, number: int, task_id: str | None = None, most: int = 200) -> Sequence[Message]:
        """Return the newest messages behind a number, at most so many, oldest first; of a task, if one is named."""
        with self._turn:
            kept = list(self._kept)
        found = [one for one in kept if one.number > number and (task_id is None or one.concerns(task_id))]
        return found[-most:]


def _message(exchange: Exchange, reader: Reader, number: int) -> Message:
    line, request, response = reader.line_of(exchange), exchange.request, exchange.response
    query = f"?{redacted(request.query)}" if request.query else ""
    return Message(
        number=number,
        time=line.time,
        **_what(line),
        status=line.status,
        milliseconds=line.milliseconds,
        error=_words(line.error),
        request_line=f"{request.method} {request.path}{query}",
        request_headers=_headers(request.headers),
        request=redacted(request.body.decode(errors="replace")),
        response_headers=_headers(response.headers),
        response=redacted(response.body.decode(errors="replace")),
    )


def _what(line: RequestLine | HttpLine) -> dict[str, str]:
    if isinstance(line, RequestLine):
        return {name: getattr(line, name) for name in ("era", "client", "method", "tool", "task")}
    return {"era": "", "client": "", "method": f"{line.method} {line.path}", "tool": "", "task": ""}


def _headers(headers: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    return [(name, _header(name.lower(), value)) for name, value in headers]


def _header(name: str, value: str) -> str:
    if _SECRET_NAME.fullmatch(name):
        scheme = value.partition(" ")[0] if name == "authorization" and " " in value else ""
        return f"{scheme} {REDACTED}".strip()
    return _SECRET_TEXT.sub(REDACTED, value)


def redacted(body: str) -> str:
    """Return a body without secrets, shortened to `LONGEST` characters: JSON, or the data of server-sent events."""
    lines = [_line(line) for line in body.splitlines(keepends=True)] if "data:" in body else [_json(body)]
    text = "".join(lines)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n... {len(text) - LONGEST} more characters"


def _line(line: str) -> str:
    if not line.startswith("data:"):
        return _json(line)
    content = line[5:].rstrip("\r\n")
    return f"data:{_json(content)}{line[5 + len(content) :]}"


def _json(text: str) -> str:
    """Return JSON text without secrets; text that is no JSON, without known patterns of them."""
    try:
        value = json.loads(text)
        cleaned = _clean(value)
    except (ValueError, RecursionError):
        return _PAIR.sub(rf"\1{REDACTED}", _SECRET_TEXT.sub(REDACTED, text))
    lead = text[: len(text) - len(text.lstrip())]
    return text if cleaned == value else lead + json.dumps(cleaned, ensure_ascii=False, separators=(",", ":"))


def _clean(value: object) -> Any:
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, object]", value).items()
        return {name: _hidden(one) if _is_secret(name, one) else _clean(one) for name, one in pairs}
    if isinstance(value, list):
        return [_clean(one) for one in cast("list[object]", value)]
    return _text(value) if isinstance(value, str) else value


def _text(value: str) -> str:
    """Return a text of a message, which may be JSON itself, without secrets."""
    return _json(value) if value.lstrip()[:1] in ("{", "[") else _words(value)


def _words(text: str) -> str:
    return _PAIR_IN_WORDS.sub(rf"\1{REDACTED}", _SECRET_TEXT.sub(REDACTED, text))


def _is_secret(name: str, value: object) -> bool:
    # A schema's properties may be named `token`: what describes a value is none.
    is_described = isinstance(value, Mapping) and ("type" in value or "description" in value)
    is_counted = isinstance(value, int | float) and name.lower().endswith("tokens")
    is_none = is_described or is_counted or name.lower() in _NO_SECRETS
    return not is_none and bool(_SECRET_NAME.fullmatch(_CAPITALS.sub("_", name)))


def _hidden(value: object) -> Any:
    """Hide the values and keep their shape."""
    if isinstance(value, Mapping):
        return {name: _hidden(one) for name, one in cast("Mapping[str, object]", value).items()}
    if isinstance(value, list):
        return [_hidden(one) for one in cast("list[object]", value)]
    return value if value is None or isinstance(value, bool) else REDACTED
