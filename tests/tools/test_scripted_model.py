"""What `make hosts` is made of: a scripted model, its wire formats, and programs of hosts that leave nothing behind."""

import http.client
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.waiting import HANG_GUARD, until
from tools.hosts.model import DONE, Script, serving
from tools.hosts.process import Running, TooLong, home, running
from tools.hosts.wires import JSON, STREAM, Anthropic, Body, Call, Conversation, Gemini, OpenAi, Responses, Say, Wire

# ----------------------------------------------------------------------------------------------------------- the model

ECHO = Script("echo", {"text": "hello"})
CALLED = Call("mcp__stepwire__echo", {"text": "hello"})
OFFERED = ("mcp__stepwire__echo", "mcp__stepwire__task_result", "TaskStop")
UNFINISHED = 'Not done yet. Next: call task_result with {"task_id":"t1","after_seconds":15}. It waits.'
IN_DATA = json.dumps({"stepwire/task": {"instructions": UNFINISHED}})
SEARCHED = Script("echo", {"text": "hello"}, search="an echo")
SEARCHABLE = ("mcp__stepwire__call_tool", "mcp__stepwire__find_tools", "mcp__stepwire__task_result")
FINDS = Call("mcp__stepwire__find_tools", {"query": "an echo"})
CALLS = Call("mcp__stepwire__call_tool", {"name": "echo", "arguments": {"text": "hello"}})
IN_BACKGROUND = 'It was moved to the background. To stop it, use TaskStop with task_id "k7"; more follows.'
NEXT = Call("mcp__stepwire__task_result", {"task_id": "t1", "after_seconds": 15})
# The OpenAI Agents SDK gives up a call after 5 seconds, and says that it may be tried again.
GIVEN_UP = "An error occurred while running the tool. Please try again."


def shown(*results: str) -> Conversation:
    """Return a conversation with results of the first tool."""
    return Conversation(OFFERED, ("mcp__stepwire__echo",) if results else (), results)


@pytest.mark.parametrize(
    ("script", "conversation", "turn"),
    [
        (ECHO, shown(), CALLED),
        (ECHO, Conversation(("Bash", "noecho")), Say(DONE)),
        (ECHO, shown(UNFINISHED), NEXT),
        (ECHO, shown(IN_DATA), NEXT),
        (ECHO, shown(UNFINISHED, "the result"), Say(DONE)),
        (
            ECHO,
            Conversation((*OFFERED, "final_answer"), OFFERED[:1], ("done",)),
            Call("final_answer", {"answer": DONE}),
        ),
        (ECHO, shown(GIVEN_UP), CALLED),
        (ECHO, shown(IN_DATA, GIVEN_UP), NEXT),
        (ECHO, shown(IN_BACKGROUND), Say(DONE)),
        (SEARCHED, Conversation(SEARCHABLE), FINDS),
        (SEARCHED, Conversation(SEARCHABLE, SEARCHABLE[1:2], ("found",)), CALLS),
        (SEARCHED, Conversation(SEARCHABLE, SEARCHABLE[:2], ("found", UNFINISHED)), NEXT),
        (Script("echo", stops=True), shown(IN_BACKGROUND), Call("TaskStop", {"task_id": "k7"})),
    ],
)
def test_the_model_calls_its_tool_once_and_then_what_each_result_names(
    script: Script, conversation: Conversation, turn: Call | Say
) -> None:
    assert script.turn(conversation) == turn


def test_a_served_model_keeps_what_it_was_shown_and_stands_in_for_the_internet() -> None:
    messages = [*REQUESTS[OpenAi]["messages"], {"role": "tool", "content": "the result"}]
    request = {**REQUESTS[OpenAi], "model": "any", "messages": messages}

    with serving(ECHO) as model:
        status, answer = ask(model.url, "POST", "/v1/chat/completions", json.dumps(request))
        outside, _ = ask(model.url, "CONNECT", "example.com:443")
        nothing, _ = ask(model.url, "POST", "/v9/think", "{}")

        assert (status, outside, nothing) == (200, 403, 404)
        assert json.loads(answer)["choices"][0]["message"]["content"] == DONE
        assert model.last_read() == "the result"
        assert (model.refused, model.unknown) == ({"example.com"}, {"/v9/think"})
        # Continue shows its model the blocks of a result as JSON.
        model.longest = shown(json.dumps([{"type": "text", "text": '{"waited_seconds":0}'}]))
        assert model.has_read('"waited_seconds":0')


@pytest.mark.parametrize("streams", [True, False])
def test_a_model_that_rests_keeps_its_last_turn_back_until_it_is_released(streams: bool) -> None:
    asked = [*REQUESTS[OpenAi]["messages"][:1]]
    told = {**REQUESTS[OpenAi], "model": "any", "stream": streams}
    answers = list[tuple[int, bytes]]()

    with serving(replace(ECHO, rests=True)) as model:
        first = ask(model.url, "POST", "/v1/chat/completions", json.dumps({**told, "messages": asked}))
        rested_before = model.rests.is_set()
        request = Thread(
            target=lambda: answers.append(ask(model.url, "POST", "/v1/chat/completions", json.dumps(told)))
        )
        request.start()
        until(model.rests.is_set)
        kept_back = list(answers)
        model.released.set()
        request.join(HANG_GUARD)

    assert (first[0], rested_before, kept_back) == (200, False, [])
    assert [(status, DONE in body.decode()) for status, body in answers] == [(200, True)]


@pytest.mark.parametrize("content_type", [STREAM, JSON])
def test_what_comes_before_a_late_response_means_nothing(content_type: str) -> None:
    filler = Body(content_type, "").filler

    assert filler == ": wait\n\n" if content_type == STREAM else json.loads(filler + "7") == 7


def ask(url: str, method: str, path: str, body: str | None = None) -> tuple[int, bytes]:
    """Send a request, and return the status and the body."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    connection.request(method, path, body)
    answer = connection.getresponse()
    read = answer.status, answer.read()
    connection.close()
    return read


# -------------------------------------------------------------------------------------------------------- wire formats

TURN = Call("stepwire_echo", {"text": "hello"})
PATHS: dict[type[Wire], str] = {
    Anthropic: "/v1/messages",
    OpenAi: "/v1/chat/completions",
    Responses: "/v1/responses",
    Gemini: "/v1beta/models/any:streamGenerateContent",
}
CONTENT = [{"type": "text", "text": "done"}]
FUNCTION = {"name": "stepwire_echo", "response": {"output": "done"}}
REQUESTS: dict[type[Wire], dict[str, Any]] = {
    Anthropic: {
        "tools": [{"name": "stepwire_echo"}],
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "stepwire_echo", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": CONTENT}]},
        ],
    },
    OpenAi: {
        "tools": [{"type": "function", "function": {"name": "stepwire_echo"}}],
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "tool", "tool_call_id": "1", "content": "done"},
            {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "stepwire_echo"}}]},
        ],
    },
    Responses: {
        "tools": [{"type": "function", "name": "stepwire_echo"}],
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
            {"type": "function_call", "call_id": "1", "name": "stepwire_echo", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "1", "output": "done"},
        ],
    },
    Gemini: {
        "tools": [{"functionDeclarations": [{"name": "stepwire_echo"}]}],
        "contents": [
            {"role": "user", "parts": [{"text": "go"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "stepwire_echo", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": FUNCTION}]},
        ],
    },
}


def written(kind: type[Wire], turn: Call | Say, **more: Any) -> Body:
    return kind().body(PATHS[kind], {"model": "any", **REQUESTS[kind], **more}, turn, 7)


def data_of(body: Body) -> list[dict[str, Any]]:
    """Return the objects of a stream's events."""
    return [json.loads(line.removeprefix("data: ")) for line in body.text.splitlines() if line.startswith("data: {")]


@pytest.mark.parametrize("kind", REQUESTS)
def test_a_request_is_read_as_a_conversation(kind: type[Wire]) -> None:
    read = kind().conversation(REQUESTS[kind])

    assert (read.offered, read.called, read.results) == (("stepwire_echo",), ("stepwire_echo",), ("done",))
    assert "go" in read.said
    assert kind().conversation({}) == Conversation()
    assert [one for one in PATHS if one().reads(PATHS[kind])] == [kind]


@pytest.mark.parametrize(
    ("kind", "in_a_call"),
    [
        (Anthropic, '"stop_reason": "tool_use"'),
        (OpenAi, '"finish_reason": "tool_calls"'),
        (Responses, '"type": "function_call"'),
        (Gemini, '"functionCall"'),
    ],
)
def test_a_turn_is_written_as_its_api_writes_it(kind: type[Wire], in_a_call: str) -> None:
    streamed, said = written(kind, TURN, stream=True), written(kind, Say("done"))

    assert streamed.content_type == STREAM
    assert in_a_call in json.dumps(data_of(streamed))
    assert "done" in said.text


# Codex offers the tools of a server in a namespace.
def test_responses_name_a_tool_with_its_namespace() -> None:
    inner = {"type": "function", "name": "echo"}
    read = Responses().conversation({"tools": [{"type": "namespace", "name": "mcp", "tools": [inner]}], "input": "go"})

    item, *_ = json.loads(written(Responses, Call("mcp/echo", {})).text)["output"]

    assert (read.offered, read.said) == (("mcp/echo",), ("go",))
    assert (item["namespace"], item["name"]) == ("mcp", "echo")


# smolagents sends neither tool calls nor messages of tools.
def test_openai_reads_calls_and_results_that_are_told_in_messages() -> None:
    calls = [{"id": "1", "type": "function", "function": {"name": TURN.tool, "arguments": TURN.arguments}}]
    messages = [
        {"role": "assistant", "content": [{"type": "text", "text": f"Calling tools:\n{calls}"}]},
        {"role": "user", "content": [{"type": "text", "text": "Observation:\ndone\nwell"}]},
    ]

    read = OpenAi().conversation({"messages": messages})

    assert (read.called, read.results) == ((TURN.tool,), ("done\nwell",))


# ------------------------------------------------------------------------------------------------------- host programs

SHOW = "import os, sys; print('in', os.getcwd(), 'with', *sorted(os.environ), sys.stdin.isatty())"
# Starts a program in a session of its own, as a daemon does, and waits for ever.
LEAVE_BEHIND = (
    "import subprocess, sys, time\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3600)'], start_new_session=True)\n"
    "print('child', child.pid, 'started', flush=True)\n"
    "time.sleep(3600)"
)


def is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    return not (status.exists() and ") Z " in status.read_text())


def shows(run: Running, text: str) -> None:
    until(lambda: text in run.text())


def test_a_program_gets_a_home_and_no_variable_of_ours() -> None:
    with home() as folder, running([sys.executable, "-c", SHOW], folder, {"OWN": "1"}, on_terminal=True) as run:
        assert run.process.wait(HANG_GUARD) == 0
        shows(run, "True")

        assert f"in{folder / 'work'}with" in run.text()
        assert f"HOME{'LC_CTYPE' if 'LC_CTYPE' in run.text() else ''}OWNPATHTMPDIR" in run.text()
    assert not folder.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="finds them in /proc")
def test_a_program_that_is_interrupted_or_waited_for_in_vain_leaves_no_child() -> None:
    with home() as folder, running([sys.executable, "-c", LEAVE_BEHIND], folder, {}, on_terminal=False) as run:
        shows(run, "started")
        child = int(run.text().partition("child")[2].partition("started")[0])
        assert is_there(child)
        with pytest.raises(TooLong, match="a form: not within 0 s"):
            run.until("a form", lambda: False, 0)

        run.interrupt()

        assert run.process.wait(HANG_GUARD) != 0
        shows(run, "KeyboardInterrupt")
    until(lambda: not is_there(child))
