"""The hosts of `make hosts`, held against the lock of their packages and against docs/clients.md."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, page
from tools.hosts.cases import (
    CASES,
    DECIDED,
    FETCH,
    FOUND,
    MOST_WHEN_IDLE,
    OPEN,
    QUESTION,
    Rest,
    applies,
    faults_of,
    read_by,
)
from tools.hosts.hosts import HOSTS, PACKAGES, Host, Places

CLIENTS = page(ROOT / "docs/clients.md")
each_host = pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)


@each_host
def test_the_documents_connect_a_host_as_it_is_connected_here(host: Host) -> None:
    assert host.connect in CLIENTS.words


def test_the_hosts_are_named_with_the_versions_that_are_installed() -> None:
    package = json.loads((PACKAGES / "package.json").read_text(encoding="utf-8"))
    wanted = [*package["dependencies"].values(), *package["optionalDependencies"].values()]

    named = {version for host in HOSTS if not host.packages for version in re.findall(r"\d+\.\d+\.\d+", host.name)}

    assert named == {version.rpartition("@")[2] for version in wanted}


def test_python_hosts_are_named_with_the_version_that_is_installed() -> None:
    for host in HOSTS:
        if host.packages:
            assert host.program is not None
            assert host.packages[0].rpartition("==")[2] == host.name.rpartition(" ")[2]


def test_the_documents_say_how_little_each_host_sends_that_has_nothing_to_do() -> None:
    titles, *rows = [line.strip("| ").split(" | ") for line in CLIENTS.text.splitlines() if line.startswith("| ")]
    measured = [row for row in rows if row[-1] == "`make hosts`"]

    assert titles[-2] == "idle"
    assert len(measured) >= len({host.connect for host in HOSTS})
    assert all(0 <= int(row[-2]) <= MOST_WHEN_IDLE for row in measured)


@pytest.mark.parametrize(
    ("rest", "faults"),
    [
        (Rest(600.5, Counter({"tasks/get": 10})), []),
        (Rest(600.5, Counter({"subscriptions/listen": 6, "tools/list": 5})), ["more than 10 requests"]),
        (Rest(12.0), ["the host ended after 12 seconds"]),
    ],
)
def test_a_host_that_comes_back_too_often_or_ends_too_soon_is_a_fault(rest: Rest, faults: list[str]) -> None:
    found = list(faults_of(rest))

    assert len(found) == len(faults)
    assert all(words.startswith(fault) for words, fault in zip(found, faults, strict=True))


@each_host
def test_a_host_is_told_of_its_model_and_of_the_endpoint(host: Host, tmp_path: Path) -> None:
    places = Places(tmp_path, "http://127.0.0.1:1/mcp", "http://127.0.0.1:2")

    command = host.prepare(places)

    settings = "".join(path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.json"))
    connection = " ".join([*(host.connection(places) or ()), *(command.arguments if host.is_library else ())])
    assert places.endpoint in settings + connection
    assert places.model in settings + connection + " ".join(command.variables.values())
    assert "127.0.0.1:3000" not in settings + connection


def test_every_host_is_led_to_all_cases_but_those_with_tasks_to_fetching_and_few_to_a_second_person() -> None:
    left_out = [(host, case) for host in HOSTS for case in CASES if not applies(host, case)]

    assert [host for host, case in left_out if case is FETCH] == [host for host in HOSTS if host.has_tasks]
    assert [host for host, case in left_out if case is DECIDED] == [host for host in HOSTS if not host.header]
    assert [host.name for host, case in left_out if case is FOUND] == ["Semantic Kernel 1.45.0"]
    assert all(case in (FETCH, FOUND, DECIDED) for _, case in left_out)


def test_a_host_that_signs_in_sends_the_header_with_each_request(tmp_path: Path) -> None:
    places = Places(tmp_path, "http://127.0.0.1:1/mcp", "http://127.0.0.1:2", "Bearer abc")

    connected = [host.connection(places) for host in HOSTS if host.header]

    assert connected
    assert all(words and words[-2:] == ["--header", "Authorization: Bearer abc"] for words in connected)


def test_a_question_that_nobody_can_answer_with_a_host_is_read_as_open() -> None:
    read = {host.name: read_by(QUESTION, host) for host in HOSTS}

    assert {name for name, words in read.items() if words == OPEN} == {host.name for host in HOSTS if not host.refund}
    assert read["opencode 1.18.33, opencode run"] == '"status":"not_asked"'
