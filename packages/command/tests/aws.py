"""AWS on 127.0.0.1: answers and refusals by operation, in the formats that boto3 reads."""

import json
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, cast
from urllib.parse import parse_qsl, unquote, urlsplit
from xml.sax.saxutils import escape

from stepwire_local.http_server import LoopbackServer, QuietHandler

CREDENTIALS: Final = {
    "AWS_ACCESS_KEY_ID": "any",
    "AWS_SECRET_ACCESS_KEY": "any",
    "AWS_REGION": "eu-central-1",
    "AWS_CONFIG_FILE": "/nonexistent",
    "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
    "AWS_EC2_METADATA_DISABLED": "true",
}
"""The environment of somebody who is signed in, without the URL."""


@dataclass(frozen=True)
class Refusal:
    """An error of AWS."""

    code: str
    message: str = "AWS says no."
    status: int = 400


Answer = Any | Refusal | Callable[[Mapping[str, Any]], Any]


@dataclass
class Aws:
    """What each operation answers; `every` answers the others."""

    answers: dict[str, Answer] = field(default_factory=dict[str, Answer])
    every: Answer = Refusal("NotImplemented")
    calls: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list[tuple[str, Mapping[str, Any]]])
    """Each operation that was called, with its parameters."""
    page: str = ""
    """What answers every request, if this is not AWS."""

    def answered(self, operation: str, given: Mapping[str, Any]) -> Any:
        """Answer a call."""
        self.calls.append((operation, given))
        answer = self.answers.get(operation, self.every)
        return answer(given) if callable(answer) else answer


@contextmanager
def aws_at(aws: Aws) -> Generator[str]:
    """Serve it, and yield its URL."""

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            if "/functions/" in self.path:
                alias = unquote(self.path.split("/")[3]).partition(":")[2]
                body = json.dumps({"alias": alias, **json.loads(self.body())}).encode()
                status, kind, text = _response(aws, "Lambda.Invoke", body)
            else:
                status, kind, text = _response(aws, self.headers.get("x-amz-target", ""), self.body())
            self.reply(status, text.encode(), {"content-type": kind})

        def do_GET(self) -> None:
            status, kind, text = _of_s3(aws, self.path)
            self.reply(status, text.encode(), {"content-type": kind})

        def do_DELETE(self) -> None:  # noqa: N802  # the name that http.server calls
            answer = aws.answered("DeleteObject", {"path": self.path})
            self.reply(answer.status if isinstance(answer, Refusal) else 204, b"", {})

    with LoopbackServer(Handler) as server:
        yield server.origin


def _of_s3(aws: Aws, path: str) -> tuple[int, str, str]:
    """Return the answer of S3: a list of keys, or an object."""
    place = urlsplit(path)
    query = dict(parse_qsl(place.query))
    operation = "ListObjectsV2" if query.get("list-type") == "2" else "GetObject"
    answer = aws.answered(operation, {**query, "path": place.path})
    if isinstance(answer, Refusal):
        return answer.status, "text/xml", f"<Error>{_xml('Code', answer.code)}{_xml('Message', answer.message)}</Error>"
    if operation == "GetObject":
        return 200, "application/octet-stream", str(answer)
    keys = "".join(f"<Contents>{_xml('Key', key)}</Contents>" for key in answer)
    return 200, "text/xml", f"<ListBucketResult><IsTruncated>false</IsTruncated>{keys}</ListBucketResult>"


def _response(aws: Aws, target: str, body: bytes) -> tuple[int, str, str]:
    """Return a status, a content type and a body."""
    if aws.page:
        return 200, "text/html", aws.page
    if target:
        answer = aws.answered(target.rpartition(".")[2], json.loads(body or b"{}"))
        if isinstance(answer, Refusal):
            text = json.dumps({"__type": answer.code, "message": answer.message})
            return answer.status, "application/x-amz-json-1.0", text
        return 200, "application/x-amz-json-1.0", json.dumps(answer)
    given = dict(parse_qsl(body.decode()))
    name = given.get("Action", "")
    answer = aws.answered(name, given)
    if isinstance(answer, Refusal):
        error = {"Type": "Sender", "Code": answer.code, "Message": answer.message}
        return answer.status, "text/xml", f"<ErrorResponse>{_xml('Error', error)}</ErrorResponse>"
    return 200, "text/xml", f"<{name}Response>{_xml(f'{name}Result', answer)}</{name}Response>"


def _xml(name: str, value: Any) -> str:
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return f"<{name}>{''.join(_xml(one, inner) for one, inner in members.items())}</{name}>"
    if isinstance(value, list):
        return f"<{name}>{''.join(_xml('member', inner) for inner in cast('list[Any]', value))}</{name}>"
    return f"<{name}>{escape(str(value))}</{name}>"
