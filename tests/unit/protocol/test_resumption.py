"""Which clients resume responses: the list, versions, the exclusions, and `?resume=` in the URL."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwire.errors import InvalidParams
from stepwire.protocol.sessions import (
    KNOWN_CLIENTS,
    NEVER,
    ClientInfo,
    Resumes,
    ResumingClient,
    resume_parameter,
    resuming_clients,
)

KNOWN = resuming_clients(["known"])
ALWAYS = Resumes(calls=True, results=True)
RESULTS_ONLY = Resumes(results=True)


# ------------------------------------------------------------------------------------------------------------- the list


@pytest.mark.parametrize("name", ["mcp", "mcp-inspector", "inspector-client", "opencode", "stepwire-client"])
def test_a_client_on_the_list_comes_back_for_everything(name: str) -> None:
    assert KNOWN.decide(ClientInfo(name, "0.1.0")) == ALWAYS


# A call would hang if an unknown client were wrongly taken to resume.
@pytest.mark.parametrize("name", ["", "MCP", "mcp ", "my mcp", "opencode2", "claude-code2", "cursor-vscode", "*"])
def test_an_unknown_client_resumes_results_only(name: str) -> None:
    assert KNOWN.decide(ClientInfo(name, "1")) == RESULTS_ONLY


@pytest.mark.parametrize(
    ("version", "decided"),
    [
        ("2.2.0", ALWAYS),
        ("2.10.0", ALWAYS),
        ("3", ALWAYS),
        ("2.2.0-beta.1", ALWAYS),
        ("2.1.9", NEVER),
        ("2.2", NEVER),
        ("1.99.99", NEVER),
        ("", NEVER),
        ("latest", NEVER),
        ("v3.0", NEVER),
    ],
)
def test_an_entry_with_a_version_includes_later_versions_and_excludes_earlier_ones(
    version: str, decided: Resumes
) -> None:
    assert KNOWN.decide(ClientInfo("rmcp", version)) == decided


@pytest.mark.parametrize(
    ("version", "decided"), [("2.1.330", ALWAYS), ("2.1.197", ALWAYS), ("2.1.196", NEVER), ("", NEVER)]
)
def test_claude_code_resumes_since_the_first_version_that_was_tried(version: str, decided: Resumes) -> None:
    assert KNOWN.decide(ClientInfo("claude-code", version, f"claude-code/{version} (cli)")) == decided


@pytest.mark.parametrize("name", ["Visual Studio Code", "Visual Studio Code - Insiders", "Visual-Studio-Code"])
def test_a_host_with_tasks_that_hangs_resumes_nothing(name: str) -> None:
    assert KNOWN.decide(ClientInfo(name, "1.110.0")) == NEVER


def test_a_list_with_all_clients_excludes_those_known_not_to_resume() -> None:
    everybody = resuming_clients(["*"])

    assert everybody.decide(ClientInfo("anybody")) == ALWAYS
    assert everybody.decide(ClientInfo("anybody", user_agent="Java-http-client/21")) == NEVER
    assert everybody.decide(ClientInfo("Visual Studio Code")) == NEVER


def test_an_empty_list_polls_no_plain_call() -> None:
    assert resuming_clients([]).decide(ClientInfo("mcp")) == RESULTS_ONLY


# ------------------------------------------------------------------------------------------------------------- the veto


@pytest.mark.parametrize(
    "user_agent",
    [
        "Java-http-client/21.0.2",
        "ReactorNetty/1.2.3",
        "ktor-client",
        "Faraday v2.14.0",
        "MyApp/1 CFNetwork/1568 Darwin/24",
        "Visual Studio Code/1.110.0",
        "claude-user",
        "openai-mcp/1.0.0",
    ],
)
def test_a_user_agent_known_not_to_resume_overrides_the_list(user_agent: str) -> None:
    assert KNOWN.decide(ClientInfo("mcp", "0.1.0", user_agent)) == NEVER


@pytest.mark.parametrize("user_agent", ["", "node", "python-httpx/0.28.1", "Go-http-client/1.1", "opencode/1.18.33"])
def test_any_other_user_agent_is_ignored(user_agent: str) -> None:
    assert KNOWN.decide(ClientInfo("mcp", "0.1.0", user_agent)) == ALWAYS
    assert KNOWN.decide(ClientInfo("an app", "1", user_agent)) == RESULTS_ONLY


# ------------------------------------------------------------------------------------- `?resume=` in the URL


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("name", ["mcp", "an app", "Visual Studio Code"])
def test_the_parameter_in_the_url_overrides_everything(name: str, asked: bool) -> None:
    assert KNOWN.decide(ClientInfo(name, "1", "Faraday v2"), asked) == Resumes(calls=asked, results=asked)


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("resume=1", True),
        ("resume=0", False),
        ("key=a&resume=1&x", True),
        ("", None),
        ("key=a", None),
        ("resumed=1", None),
        ("Resume=1", None),
        ("key=resume", None),
    ],
)
def test_the_parameter_in_the_url_is_1_or_0(query: str, asked: bool | None) -> None:
    assert resume_parameter(query) == asked


@pytest.mark.parametrize(
    "query", ["resume=maybe", "resume=", "resume", "resume=01", "resume=1&resume=0", "resume=1&" + "&".join("x" * 50)]
)
def test_another_value_in_the_url_is_refused_with_the_valid_ones(query: str) -> None:
    with pytest.raises(InvalidParams, match=r"resume in the URL must be given once, as 1 or 0|more than 20 fields"):
        resume_parameter(query)


@given(st.text())
def test_no_query_raises_another_error(query: str) -> None:
    with suppress(InvalidParams):
        assert resume_parameter(query) in {None, True, False}


# ------------------------------------------------------------------------------------------------ reading the parameter


def test_the_list_of_known_clients_can_be_added_to() -> None:
    read = resuming_clients(["known", "my agent >= 1.2"])

    assert len(read.entries) == len(KNOWN_CLIENTS) + 1
    assert read.entries[-1] == ResumingClient("my agent", (1, 2))


@pytest.mark.parametrize("entry", ["", " ", ">=1", "a>=", "a>=b", "a>=1.2.3.4.5", "a>1", "a=1", "a>=1>=2"])
def test_an_invalid_entry_is_named(entry: str) -> None:
    with pytest.raises(ValueError, match="^" + entry.replace(".", r"\.") + "$"):
        resuming_clients(["known", entry])
