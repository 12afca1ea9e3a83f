"""Which clients resume responses: the list, versions, the exclusions, and `?resume=` in the URL."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwire.errors import InvalidParams
from stepwire.protocol.http import switch_in
from stepwire.protocol.sessions import (
    KNOWN_CLIENTS,
    NEVER,
    ClientInfo,
    Resumes,
    ResumingClient,
    resuming_clients,
)

KNOWN = resuming_clients(["known"])
ALWAYS = Resumes(calls=True, results=True)
RESULTS_ONLY = Resumes(results=True)


# ------------------------------------------------------------------------------------------------------------- the list


DECIDED = [
    *(
        (ALWAYS, one, "0.1.0", "")
        for one in ("mcp", "mcp-inspector", "inspector-client", "opencode", "stepwire-client")
    ),
    # A call would hang if an unknown client were wrongly taken to resume.
    *((RESULTS_ONLY, one, "1", "") for one in ("", "MCP", "mcp ", "my mcp", "opencode2", "claude-code2", "*")),
    (RESULTS_ONLY, "cursor-vscode", "1", ""),
    # An entry with a version includes later ones and excludes earlier ones.
    *((ALWAYS, "rmcp", one, "") for one in ("2.2.0", "2.10.0", "3", "2.2.0-beta.1")),
    *((NEVER, "rmcp", one, "") for one in ("2.1.9", "2.2", "1.99.99", "", "latest", "v3.0")),
    *((ALWAYS, "claude-code", one, f"claude-code/{one} (cli)") for one in ("2.1.330", "2.1.197")),
    *((NEVER, "claude-code", one, f"claude-code/{one} (cli)") for one in ("2.1.196", "")),
    # Hosts with tasks that hang
    *((NEVER, one, "1.110.0", "") for one in ("Visual Studio Code", "Visual Studio Code - Insiders")),
    (NEVER, "Visual-Studio-Code", "1.110.0", ""),
    # A user agent that is known not to resume overrides the list; any other is ignored.
    *((NEVER, "mcp", "0.1.0", one) for one in ("Java-http-client/21.0.2", "ReactorNetty/1.2.3", "ktor-client")),
    *((NEVER, "mcp", "0.1.0", one) for one in ("Faraday v2.14.0", "MyApp/1 CFNetwork/1568 Darwin/24", "claude-user")),
    *((NEVER, "mcp", "0.1.0", one) for one in ("Visual Studio Code/1.110.0", "openai-mcp/1.0.0")),
    *((ALWAYS, "mcp", "0.1.0", one) for one in ("node", "python-httpx/0.28.1", "Go-http-client/1.1")),
    *((RESULTS_ONLY, "an app", "1", one) for one in ("", "node", "Go-http-client/1.1", "opencode/1.18.33")),
]


@pytest.mark.parametrize(("decided", "name", "version", "user_agent"), DECIDED)
def test_what_a_client_resumes_is_decided_by_what_it_says_of_itself(
    decided: Resumes, name: str, version: str, user_agent: str
) -> None:
    assert KNOWN.decide(ClientInfo(name, version, user_agent)) == decided


def test_a_list_with_all_clients_excludes_those_known_not_to_resume() -> None:
    everybody = resuming_clients(["*"])

    assert everybody.decide(ClientInfo("anybody")) == ALWAYS
    assert everybody.decide(ClientInfo("anybody", user_agent="Java-http-client/21")) == NEVER
    assert everybody.decide(ClientInfo("Visual Studio Code")) == NEVER


def test_an_empty_list_polls_no_plain_call() -> None:
    assert resuming_clients([]).decide(ClientInfo("mcp")) == RESULTS_ONLY


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
    assert switch_in(query, "resume") == asked


@pytest.mark.parametrize(
    "query", ["resume=maybe", "resume=", "resume", "resume=01", "resume=1&resume=0", "resume=1&" + "&".join("x" * 50)]
)
def test_another_value_in_the_url_is_refused_with_the_valid_ones(query: str) -> None:
    with pytest.raises(InvalidParams, match=r"resume in the URL must be given once, as 1 or 0|more than 20 fields"):
        switch_in(query, "resume")


@given(st.text())
def test_no_query_raises_another_error(query: str) -> None:
    with suppress(InvalidParams):
        assert switch_in(query, "resume") in {None, True, False}


# ------------------------------------------------------------------------------------------------ reading the parameter


def test_the_list_of_known_clients_can_be_added_to() -> None:
    read = resuming_clients(["known", "my agent >= 1.2"])

    assert len(read.entries) == len(KNOWN_CLIENTS) + 1
    assert read.entries[-1] == ResumingClient("my agent", (1, 2))


@pytest.mark.parametrize("entry", ["", " ", ">=1", "a>=", "a>=b", "a>=1.2.3.4.5", "a>1", "a=1", "a>=1>=2"])
def test_an_invalid_entry_is_named(entry: str) -> None:
    with pytest.raises(ValueError, match="^" + entry.replace(".", r"\.") + "$"):
        resuming_clients(["known", entry])
