"""The console's pages and its JSON API, in front of the API of the stack and on its port.

The rules: it answers what is below `/console/`, and `/` unless the API has a route there; all else goes on to the API
untouched. guard.py decides who may use it. What the page changes, it changes as an MCP client, but for what an extra
serves it.
"""

import asyncio
import hashlib
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, unquote

from stepwire.json_text import JsonObject
from stepwire.manifests.definitions import INNER, states_in
from stepwire_local.console.definitions import drawable, whole
from stepwire_local.console.guard import refusal
from stepwire_local.console.messages import Messages
from stepwire_local.console.resources import Resources
from stepwire_local.console.sign_in import Token
from stepwire_local.console.tasks import Execution, Tasks, course_in, executions_of
from stepwire_local.extras import Query, Refused, extras
from stepwire_local.gateway.exchanges import Exchange
from stepwire_local.gateway.http_api import Response
from stepwire_local.gateway.loopback import is_loopback
from stepwire_local.gateway.server import Application, Receive, Scope, Send, read, reply
from stepwire_local.stack import LocalStack, Watcher
from stepwire_local.streams.task_changes import TaskChange

logger = logging.getLogger(__name__)

_STATIC: Final = Path(__file__).parent / "static"
_TYPES: Final = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}
_PREFIX: Final = "/console/"
_API: Final = "/console/api/"
_FRAME: Final = "frame.html"
_LONGEST: Final = 128 * 1024  # bytes of a body
_ALWAYS: Final = (
    ("cache-control", "no-store"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
)
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# The card's own: inline scripts, an origin of its own, and nothing from the network.
_FRAME_POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts"
)


class Watchers:
    """Several observers of a stack, as one."""

    def __init__(self, *watchers: Watcher) -> None:
        self._watchers = watchers

    def answered(self, exchange: Exchange) -> None:
        """Tell each of a request and its response."""
        for watcher in self._watchers:
            watcher.answered(exchange)

    def task_changed(self, change: TaskChange) -> None:
        """Tell each of a change of a task's status."""
        for watcher in self._watchers:
            watcher.task_changed(change)


class NotFound(Refused):
    """There is no such thing."""

    status = 404

    def __init__(self) -> None:
        super().__init__("There is no such page.")


class Console:
    """The console of a stack; it is an observer of the stack too.

    Args:
        stack: The stack, running or not yet.
        sign_in: Returns a token for the endpoint; None where the console has nowhere to sign in.
    """

    def __init__(self, stack: LocalStack, sign_in: Token | None = None) -> None:
        self._stack = stack
        self._sign_in = sign_in
        self._messages = Messages(first=time.time_ns() // 1_000_000)
        self._tasks = Tasks()
        self._resources = Resources(stack, self._shown)
        self._definitions: dict[str, str] = {}  # by the digest under which the page asks for their graphs

    @property
    def stack(self) -> LocalStack:
        """The stack that it shows."""
        return self._stack

    @property
    def url(self) -> str:
        """Return the page's URL."""
        return f"{self._stack.base_url}{_PREFIX if self._stack.api().match('GET', '/') else '/'}"

    def answered(self, exchange: Exchange) -> None:
        """Keep a request and its response."""
        self._messages.add(exchange)

    def task_changed(self, change: TaskChange) -> None:
        """Note a change of a task's status."""
        self._tasks.changed(change)

    def in_front_of(self, api: Application) -> Application:
        """Return an application that serves the console and leaves all else to the API."""

        async def application(scope: Scope, receive: Receive, send: Send) -> None:
            path = str(scope.get("path", ""))
            is_ours = path.startswith(_PREFIX) or (path == "/" and not self._stack.api().match(scope["method"], path))
            if scope["type"] != "http" or not is_ours:
                await api(scope, receive, send)
                return
            # In a thread: it reads the simulated account.
            body = await read(receive, _LONGEST)
            answered = _json(413, {"message": "The request is too long."})
            await reply(send, answered if body is None else await asyncio.to_thread(self._answer, scope, body))

        return application

    def _answer(self, scope: Scope, body: bytes) -> Response:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        path = str(scope["path"])
        is_page = path in ("/", _PREFIX)
        if path == "/" and scope["method"] == "POST" and "origin" not in headers and self._stack.is_mcp:
            return _json(404, _not_here(headers.get("host", "")))
        if why := refusal(scope["method"], headers, is_page=is_page):
            return _json(403, {"message": why})
        query = {name: values[-1] for name, values in parse_qs(scope["query_string"].decode("latin-1")).items()}
        try:
            if path.startswith(_API):
                return self._data(scope["method"], path.removeprefix(_API), query, body)
            return _file(self._page if is_page else path.removeprefix(_PREFIX))
        except Refused as error:
            return _json(error.status, {"message": str(error)})
        except Exception:
            logger.exception("The console could not answer %s.", path)
            return _json(500, {"message": "The console failed; its terminal says why."})

    @property
    def _page(self) -> str:
        return "index.html" if self._stack.is_mcp else "application.html"

    def _data(self, method: str, path: str, query: Query, body: bytes) -> Response:
        name, _, rest = path.partition("/")
        served: dict[tuple[str, str], Callable[[str, Query, bytes], Any]] = {
            ("GET", "stack"): lambda _, _asked, _body: self._about(),
            ("GET", "tasks"): lambda task_id, _, _body: self._task(task_id) if task_id else self._newest_first(),
            ("GET", "states"): lambda task_id, asked, _: self._visits(task_id, asked),
            ("GET", "graphs"): lambda digest, _, _body: self._graph(digest),
            ("GET", "messages"): lambda _, asked, _body: self._wire(asked),
            ("POST", "token"): lambda _, _asked, _body: {"token": self._sign_in() if self._sign_in else None},
        }
        served |= self._resources.routes
        for part in self._stack.parts:
            served |= part.routes
        found = served.get((method, name))
        if found is None:
            raise NotFound
        return _json(200, found(unquote(rest), query, body))

    def _about(self) -> Any:
        known: dict[str, Any] = {"url": self._stack.url, "name": self._stack.name, "signsIn": self._sign_in is not None}
        for part in self._stack.parts:
            known |= part.about
        return {**known, "scripts": list(_scripts())}

    def _newest_first(self) -> Any:
        tasks = [dict(one) for one in self._tasks.newest_first()]
        for name, of_tasks in filter(None, (part.of_tasks for part in self._stack.parts)):
            found = of_tasks(tasks)
            for task in tasks:
                task[name] = found.get(task["taskId"])
        return tasks

    def _machines(self) -> Sequence[str]:
        return [arn for one in self._stack.deployments for arn in one.world.state_machines]

    def _task(self, task_id: str) -> Any:
        executions = executions_of(task_id, self._machines())
        return {"taskId": task_id, "executions": [self._shown(one) for one in executions]}

    def _shown(self, execution: Execution) -> Any:
        course = course_in(self._stack.client("stepfunctions"), execution)
        digest = hashlib.sha256(execution.definition.encode()).hexdigest()[:24]
        self._definitions[digest] = execution.definition
        return {
            "name": execution.name,
            "arn": execution.arn,
            "machine": execution.machine,
            "status": execution.status,
            "startedAt": execution.started,
            "stoppedAt": execution.stopped,
            "error": execution.error,
            "cause": execution.cause,
            "graph": digest,
            "states": course.states(),
            "taken": sorted(course.taken),
        }

    def _visits(self, task_id: str, query: Query) -> Any:
        """Return the visits of a state in an execution of a task."""
        found = [one for one in executions_of(task_id, self._machines()) if one.name == query.get("execution")]
        if not found:
            raise NotFound
        course = course_in(self._stack.client("stepfunctions"), found[0])
        definition = json.loads(found[0].definition)
        state = query.get("state", "")
        return {"state": state, "definition": _state_in(definition, state), "visits": course.visits_of(state)}

    def _graph(self, digest: str) -> Any:
        if digest not in self._definitions:
            raise NotFound
        return drawable(whole(json.loads(self._definitions[digest])))

    def _wire(self, query: Query) -> Any:
        after = int(query["after"]) if query.get("after", "").isdecimal() else 0
        return [one.for_page() for one in self._messages.after(after, query.get("task"))]


def _state_in(definition: JsonObject, name: str) -> Any:
    """Return a state of a definition, in whichever branch, without what is inside it."""
    found = next((one.state for one in states_in(definition) if one.name == name), None)
    return None if found is None else {key: value for key, value in found.items() if key not in INNER}


def _scripts() -> Mapping[str, Path]:
    return {one.script.name: one.script for one in extras() if one.script}


def _file(name: str) -> Response:
    """Return one of the page's own files; their names are known, so no path leads elsewhere."""
    path = {**_scripts(), **{path.name: path for path in _STATIC.iterdir()}}.get(name)
    if path is None:
        raise NotFound
    policy = ("content-security-policy", _FRAME_POLICY if name == _FRAME else _POLICY)
    kind = ("content-type", f"{_TYPES[path.suffix]}; charset=utf-8")
    return Response(200, (kind, policy, *_ALWAYS), path.read_bytes())


def _not_here(host: str) -> Any:
    """Return the answer to an MCP client that was given the console's address."""
    where = f"http://{host}/mcp" if is_loopback(host) else "at /mcp"
    message = f"This is the console. The MCP endpoint is {where}."
    return {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": message}}


def _json(status: int, value: Any) -> Response:
    return Response(status, (("content-type", "application/json"), *_ALWAYS), json.dumps(value).encode())
