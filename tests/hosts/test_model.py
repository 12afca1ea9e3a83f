"""The scripted model calls its tool once, then what each result names, and stands in for the internet."""

import http.client
import json
from urllib.parse import urlsplit

import pytest

from tests.hosts.model import DONE, Script, serving
from tests.hosts.wires import Call, Conversation, Say

ECHO = Script("echo", {"text": "hello"})
OFFERED = ("mcp__stepwire__echo", "mcp__stepwire__task_result", "TaskStop")
UNFINISHED = 'Not done yet. Next: call task_result with {"task_id":"t1","after_seconds":15}. It waits.'
IN_DATA = json.dumps({"stepwire/task": {"instructions": UNFINISHED}})
IN_BACKGROUND = 'It was moved to the background. To stop it, use TaskStop with task_id "k7"; more follows.'


def shown(*results: str) -> Conversation:
    """Return a conversation with results of the first tool."""
    return Conversation(OFFERED, ("mcp__stepwire__echo",) if results else (), results)


def test_it_calls_its_tool_first_by_the_name_that_the_host_offers() -> None:
    assert ECHO.turn(shown()) == Call("mcp__stepwire__echo", {"text": "hello"})


def test_it_calls_nothing_where_its_tool_is_not_offered() -> None:
    assert ECHO.turn(Conversation(("Bash", "noecho"))) == Say(DONE)


@pytest.mark.parametrize("result", [UNFINISHED, IN_DATA])
def test_it_calls_what_a_result_names(result: str) -> None:
    turn = ECHO.turn(shown(result))

    assert turn == Call("mcp__stepwire__task_result", {"task_id": "t1", "after_seconds": 15})


def test_it_is_done_with_a_result_that_names_nothing() -> None:
    assert ECHO.turn(shown(UNFINISHED, "the result")) == Say(DONE)


def test_it_ends_with_the_tool_that_a_host_has_for_that() -> None:
    turn = ECHO.turn(Conversation((*OFFERED, "final_answer"), OFFERED[:1], ("the result",)))

    assert turn == Call("final_answer", {"answer": DONE})


# Continue shows its model the blocks of a result as JSON.
def test_it_has_read_a_result_whose_quotes_the_host_escapes() -> None:
    with serving(ECHO) as model:
        model.longest = shown(json.dumps([{"type": "text", "text": '{"waited_seconds":0}'}]))

        assert model.has_read('"waited_seconds":0')


# The OpenAI Agents SDK gives up a call after 5 seconds, and says that it may be tried again.
def test_it_repeats_what_it_called_where_the_host_gave_up() -> None:
    failed = "An error occurred while running the tool. Please try again."

    assert ECHO.turn(shown(failed)) == Call("mcp__stepwire__echo", {"text": "hello"})
    assert ECHO.turn(shown(IN_DATA, failed)) == ECHO.turn(shown(UNFINISHED))


def test_it_stops_a_task_in_the_background_only_if_it_is_told_to() -> None:
    assert Script("echo", stops=True).turn(shown(IN_BACKGROUND)) == Call("TaskStop", {"task_id": "k7"})
    assert ECHO.turn(shown(IN_BACKGROUND)) == Say(DONE)


def test_a_served_model_keeps_what_it_was_shown_last() -> None:
    request = {
        "model": "any",
        "tools": [{"function": {"name": "stepwire_echo"}}],
        "messages": [
            {"role": "assistant", "tool_calls": [{"function": {"name": "stepwire_echo"}}]},
            {"role": "tool", "content": "the result"},
        ],
    }

    with serving(ECHO) as model:
        status, answer = ask(model.url, "POST", "/v1/chat/completions", json.dumps(request))

        assert status == 200
        assert json.loads(answer)["choices"][0]["message"]["content"] == DONE
        assert model.has_read("the result")
        assert model.last_read() == "the result"


def test_it_reaches_nothing_for_a_host_that_takes_it_for_its_proxy() -> None:
    with serving(ECHO) as model:
        status, _ = ask(model.url, "CONNECT", "example.com:443")

        assert status == 403
        assert model.refused == {"example.com"}


def test_a_path_of_no_known_api_is_not_found() -> None:
    with serving(ECHO) as model:
        status, _ = ask(model.url, "POST", "/v9/think", "{}")

        assert status == 404
        assert model.unknown == {"/v9/think"}


def ask(url: str, method: str, path: str, body: str | None = None) -> tuple[int, bytes]:
    """Send a request, and return the status and the body."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    connection.request(method, path, body)
    answer = connection.getresponse()
    read = answer.status, answer.read()
    connection.close()
    return read
