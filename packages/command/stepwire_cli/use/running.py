"""What the commands do that talk to a server. Each returns an exit code."""

import asyncio
import contextlib
import difflib
import logging
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, cast

from mcp_types import CallToolResult, ElicitRequestFormParams, ElicitRequestParams, ElicitResult, Implementation, Tool

from stepwire_cli.exits import CommandError, Exit
from stepwire_cli.keyboard import LeftOpen, signals_wake_the_loop
from stepwire_cli.screen import STYLES, Screen, moment
from stepwire_cli.settings import Auth, Settings, version
from stepwire_cli.use import rendering
from stepwire_cli.use.arguments import from_file, from_pairs, missing
from stepwire_cli.use.forms import as_typed, checked, choices_of, fields_of, required_in
from stepwire_cli.use.leaving import Watched
from stepwire_cli.use.questions import Person
from stepwire_cli.use.signing import auth_of
from stepwire_cli.visible_text import plain
from stepwire_client import (
    Callbacks,
    CallFailed,
    Completed,
    Failed,
    InputRequired,
    NotConnected,
    Refused,
    SignInNeeded,
    Task,
    TaskCancelled,
    TaskClient,
    TaskClientError,
    UnknownTask,
    connect,
)
from stepwire_client.client import NAME, Mode
from stepwire_client.pages import all_pages

KEY: Final = "stepwire/idempotencyKey"
_KEYS: Final = "idempotencyKey"
"""In the data of a refusal: the tool keeps no key."""
_PATIENCE_OF_A_SHELL: Final = 3  # seconds for the names that complete a line
_PATIENCE: Final = 15  # seconds for the answer to a call that Ctrl-C met on its way
_CODES: Final[tuple[tuple[type[TaskClientError], Exit], ...]] = (
    (SignInNeeded, Exit.SIGN_IN),
    (UnknownTask, Exit.UNKNOWN),
    (CallFailed, Exit.FAILED),
    (TaskCancelled, Exit.FAILED),
    (NotConnected, Exit.UNREACHABLE),
)

Work = Callable[[TaskClient, Watched], Awaitable[Exit]]


@dataclass(frozen=True)
class Given:
    """The arguments of a call, as they stand on the command line."""

    pairs: tuple[str, ...] = ()
    input_file: str | None = None

    def arguments(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return them as the tool takes them."""
        whole = {} if self.input_file is None else from_file(self.input_file)
        return {**whole, **from_pairs(self.pairs, schema)}


@dataclass(frozen=True)
class Call:
    """A call of a tool, with a key under which it is found again."""

    tool: str
    arguments: dict[str, Any]
    key: str
    is_own_key: bool
    """Whether the command made the key up."""


def list_tools(settings: Settings) -> int:
    """Print the tools."""

    async def work(client: TaskClient, watched: Watched) -> Exit:
        tools = await client.tools()
        if not tools:
            watched.screen.say("The server has no tools.")
        if settings.as_json:
            watched.screen.json([tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools])
        elif tools:
            watched.screen.table(("tool", "arguments", "what it does"), rendering.tool_rows(tools))
        return Exit.DONE

    return drive(settings, work)


def names_of_tools(settings: Settings) -> list[str]:
    """Return the tools of the server, as far as it is quick and asks nobody anything."""

    async def ask() -> list[str]:
        auth = auth_of(settings, is_interactive=False)
        async with asyncio.timeout(_PATIENCE_OF_A_SHELL), connect(settings.endpoint(), auth=auth) as client:
            return [tool.name for tool in await client.tools()]

    with contextlib.suppress(CommandError, TaskClientError, TimeoutError):
        return asyncio.run(ask())
    return []


def call(settings: Settings, name: str, given: Given, key: str | None, *, detach: bool) -> int:
    """Call a tool."""
    sent = key or str(uuid.uuid4())
    again = ["call", name, *given.pairs, *(("--input", given.input_file) if given.input_file else ())]

    async def work(client: TaskClient, watched: Watched) -> Exit:
        tool = _named(name, await client.tools())
        arguments = given.arguments(tool.input_schema)
        if lacking := missing(arguments, tool.input_schema):
            raise CommandError(f"{name} also needs {', '.join(lacking)}: write {lacking[0]}=VALUE.")
        watched.retry, watched.is_sent, watched.may_start = settings.command(*again, "--key", sent), True, False
        begun = await _begun(_created(client, watched, Call(name, arguments, sent, is_own_key=key is None)), watched)
        if isinstance(begun, CallToolResult):
            return _show_result(settings, watched, begun)
        watched.begin(begun.task_id)
        if detach:
            return _show_detached(settings, watched, begun)
        return await _followed(client, watched, begun.task_id)

    return drive(settings, work, may_start=True)


def list_tasks(settings: Settings) -> int:
    """Print the caller's tasks."""

    async def work(client: TaskClient, watched: Watched) -> Exit:
        found = [task for page in await all_pages(client.list_tasks) for task in page.tasks]
        if settings.as_json:
            watched.screen.json([rendering.task_json(task) for task in found])
            return Exit.DONE
        rows = [
            (task.task_id, rendering.status_text(task), moment(task.created_at), task.status_message or "")
            for task in found
        ]
        watched.screen.table(("task", "status", "created", "says"), [tuple(map(_cell, row)) for row in rows])
        return Exit.DONE

    return drive(settings, work, mode="legacy")  # 2026-07-28 has no list of tasks


def show(settings: Settings, task_id: str) -> int:
    """Print a task."""

    async def work(client: TaskClient, watched: Watched) -> Exit:
        task = await client.get_task(task_id)
        if settings.as_json:
            watched.screen.json(rendering.task_json(task))
            return Exit.DONE
        rendering.show_task(watched.screen, task)
        if isinstance(task, Completed):
            text = rendering.result_text(task.result)
            if not rendering.status_text(task).endswith(text):  # else it was said
                watched.screen.result(text)
        return Exit.DONE

    return drive(settings, work)


def watch(settings: Settings, task_id: str) -> int:
    """Follow a task to its end."""

    async def work(client: TaskClient, watched: Watched) -> Exit:
        return await _followed(client, watched, task_id)

    return drive(settings, work, wanted=task_id)


def answer(settings: Settings, task_id: str, pairs: tuple[str, ...], *, decline: bool) -> int:
    """Answer what a task asks now."""
    given = list[str]()

    async def work(client: TaskClient, watched: Watched) -> Exit:
        watched.task_id = task_id
        async for task in client.follow_task(task_id):
            watched.is_asked = isinstance(task, InputRequired)
            if given or not isinstance(task, InputRequired):
                said = "The answer was taken" if given else "The task asks nothing"
                has_failed = isinstance(task, Failed) or (isinstance(task, Completed) and task.result.is_error)
                watched.screen.say(f"{said}; it is {rendering.status_text(task)}{'' if has_failed else '.'}")
                return Exit.DONE if given and not has_failed else Exit.FAILED
        return Exit.DONE

    async def elicit(params: ElicitRequestParams) -> ElicitResult:
        result = _ready(params, pairs, decline=decline)
        given.append(result.action)
        return result

    return drive(settings, work, elicit if pairs or decline else None, given)


def cancel(settings: Settings, task_id: str) -> int:
    """Cancel a task."""

    async def work(client: TaskClient, watched: Watched) -> Exit:
        await client.cancel_task(task_id)
        task = await client.get_task(task_id)
        if settings.as_json:
            watched.screen.json(rendering.task_json(task))
        else:
            watched.screen.say(f"The task {task_id} is {task.status}.")
        return Exit.DONE if task.status == "cancelled" else Exit.FAILED

    return drive(settings, work)


def drive(
    settings: Settings,
    work: Work,
    elicit: Callable[[ElicitRequestParams], Awaitable[ElicitResult]] | None = None,
    given: list[str] | None = None,
    mode: Mode = "auto",
    *,
    may_start: bool = False,
    wanted: str | None = None,
) -> int:
    """Do some work in a session, and say in a line what ended it."""
    logging.getLogger().addHandler(logging.NullHandler())  # the library logs what it also raises
    screen = Screen(as_json=settings.as_json)
    watched = Watched(settings, screen, may_start=may_start, wanted=wanted)
    person = Person(screen, watched.leave_unanswered, watched.has_left)

    async def ask(params: ElicitRequestParams) -> ElicitResult:
        watched.is_asking = watched.task_id is None
        watched.values = as_typed(params) if isinstance(params, ElicitRequestFormParams) else ""
        answered = await person.elicit(params)
        watched.is_asking = False
        if given is not None:
            given.append(answered.action)
        return answered

    async def run() -> Exit:
        watched.main = asyncio.current_task()
        auth = auth_of(settings, is_interactive=screen.is_interactive)
        callbacks = Callbacks(elicit=elicit or ask)
        info = Implementation(name=NAME, version=version())
        url = settings.endpoint()
        with signals_wake_the_loop():
            async with connect(url, auth=auth, callbacks=callbacks, client_info=info, mode=mode) as client:
                return await work(client, watched)

    try:
        settings.endpoint()
        return asyncio.run(run())
    except (CommandError, TaskClientError) as error:
        return _told(error, watched)
    except (KeyboardInterrupt, asyncio.CancelledError, LeftOpen):
        return _left(watched)
    finally:
        screen.pause()


async def _followed(client: TaskClient, watched: Watched, task_id: str) -> Exit:
    watched.task_id = task_id
    result = await client.task_result(task_id, watch=watched.show)
    return _show_result(watched.settings, watched, result)


async def _created(client: TaskClient, watched: Watched, call: Call) -> Task | CallToolResult:
    """Send a call. A tool that keeps no key refuses ours and starts nothing, so it is called without."""
    try:
        return await client.create_task(call.tool, call.arguments, meta={KEY: call.key})
    except Refused as refused:
        if not (call.is_own_key and _keeps_no_key(refused)):
            raise
    watched.retry = ""
    return await client.create_task(call.tool, call.arguments)


def _keeps_no_key(refused: Refused) -> bool:
    data: object = refused.data
    return isinstance(data, dict) and cast("dict[str, object]", data).get("unsupported") == _KEYS


async def _begun(creating: Coroutine[Any, Any, Task | CallToolResult], watched: Watched) -> Task | CallToolResult:
    """Send the call. Ctrl-C meanwhile waits for the answer, so that no task is begun whose id nobody knows."""
    creation = asyncio.ensure_future(creating)
    try:
        return await asyncio.shield(creation)
    except asyncio.CancelledError:
        if watched.is_asking:  # nothing has begun
            watched.is_sent = False
            creation.cancel()
            raise
        watched.screen.say("Waiting for the task's id, so that nothing is lost. Ctrl-C again gives up.")
        await asyncio.wait({creation}, timeout=_PATIENCE)
        if creation.done() and not creation.cancelled() and creation.exception() is None:
            begun = creation.result()
            watched.is_sent = False
            if isinstance(begun, CallToolResult):  # it has ended: what came of it is not lost
                _show_result(watched.settings, watched, begun)
            else:
                watched.task_id = begun.task_id
        creation.cancel()
        raise


def _named(name: str, tools: list[Tool]) -> Tool:
    found = next((tool for tool in tools if tool.name == name), None)
    if found is not None:
        return found
    names = [tool.name for tool in tools]
    nearest = difflib.get_close_matches(name, names, 1, 0.5)
    hint = f"did you mean {nearest[0]}?" if nearest else f"it has {', '.join(names) or 'none'}."
    raise CommandError(f"The server has no tool {name}; {hint}", Exit.UNKNOWN)


def _show_result(settings: Settings, watched: Watched, result: CallToolResult) -> Exit:
    if settings.as_json:
        watched.screen.json({"taskId": watched.task_id, "result": rendering.result_json(result)})
    elif result.is_error:
        said = rendering.result_text(result)
        watched.screen.error(said if watched.task_id is None else f"The task is {rendering.WITH_ERROR}: {said}")
    else:
        watched.screen.result(rendering.result_text(result))
    return Exit.FAILED if result.is_error else Exit.DONE


def _show_detached(settings: Settings, watched: Watched, task: Task) -> Exit:
    if settings.as_json:
        watched.screen.json(rendering.task_json(task))
    else:
        watched.screen.result(task.task_id)
    watched.tell()
    return Exit.DONE


def _ready(params: ElicitRequestParams, pairs: tuple[str, ...], *, decline: bool) -> ElicitResult:
    """Return the answer that stands on the command line.

    Raises:
        CommandError: it does not fit the form.
    """
    if decline:
        return ElicitResult(action="decline")
    if not isinstance(params, ElicitRequestFormParams):
        raise CommandError("The task asks for a page to be opened: answer without values, at the terminal.")
    fields = fields_of(params)
    content: dict[str, Any] = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        if name not in fields:
            raise CommandError(f"The question has no field {name}; it has {', '.join(fields) or 'none'}.")
        content[name] = checked(text, name, fields[name], choices_of(fields[name]))
    if lacking := [name for name in required_in(params) if name not in content]:
        raise CommandError(f"The question also needs {', '.join(lacking)}.")
    return ElicitResult(action="accept", content=content)


def _told(error: CommandError | TaskClientError, watched: Watched) -> Exit:
    """Say what is wrong, and where the task is."""
    watched.screen.error(str(error) + _advice(error, watched.settings))
    if isinstance(error, CallFailed | TaskCancelled | UnknownTask):
        watched.is_sent, watched.task_id = False, None
    if watched.task_id is not None or (isinstance(error, NotConnected) and watched.is_sent):
        watched.tell()
    if isinstance(error, CommandError):
        return error.code
    return next((code for kind, code in _CODES if isinstance(error, kind)), Exit.UNREACHABLE)


def _advice(error: Exception, settings: Settings) -> str:
    match error:
        case SignInNeeded(status=403):
            return "" if error.is_explained else " These credentials lack a right."
        case SignInNeeded(needs_client_id=True):
            return " Give --client-id ID, and --callback-port PORT if the issuer compares callbacks whole."
        case SignInNeeded() if settings.auth is Auth.OAUTH:
            return " Sign in once at a terminal; later runs use the tokens that are kept."
        case SignInNeeded():
            return " Give --token, or sign in with --auth oauth or --auth sigv4."
        case UnknownTask() if _lists_tasks(settings):
            return " `stepwire tasks list` shows yours."
        case _:
            return ""


def _lists_tasks(settings: Settings) -> bool:
    """Tell whether the server lists the caller's tasks. It is asked after an error, so what it answers raises none."""

    async def ask() -> bool:
        async with connect(settings.endpoint(), auth=auth_of(settings, is_interactive=False), mode="legacy") as client:
            return client.lists_tasks

    with contextlib.suppress(CommandError, TaskClientError):
        return asyncio.run(ask())
    return False


def _left(watched: Watched) -> Exit:
    """End after Ctrl-C, or without the answer that a task waits for."""
    if watched.is_unanswered:
        watched.is_asked = True
        watched.tell()
        return Exit.WAITING
    if watched.task_id is not None and watched.screen.is_interactive and _is_to_end(watched):
        if cancel(watched.settings, watched.task_id) not in (Exit.DONE, Exit.FAILED):
            watched.tell()  # nobody knows whether it was cancelled
        return Exit.STOPPED
    watched.tell()
    return Exit.STOPPED


def _is_to_end(watched: Watched) -> bool:
    person = Person(watched.screen, watched.leave_unanswered)
    watched.screen.say("")
    try:
        answers = {"": "l", "l": "l", "c": "c"}
        return asyncio.run(person.choice("Leave the task running, or cancel it? [L/c]", answers)) == "c"
    except LeftOpen:
        return False


def _cell(text: str) -> Any:
    from rich.text import Text

    return Text(plain(text), style=STYLES.get("failed" if text == rendering.WITH_ERROR else text, ""))
