"""The hosts of `make hosts`, held against the lock of their packages and against docs/clients.md."""

import json
import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, page
from tests.hosts.cases import CASES, DECIDED, FETCH, OPEN, QUESTION, applies, read_by
from tests.hosts.hosts import HOSTS, PACKAGES, Host, Places

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


@each_host
def test_a_host_is_told_of_its_model_and_of_the_endpoint(host: Host, tmp_path: Path) -> None:
    places = Places(tmp_path, "http://127.0.0.1:1/mcp", "http://127.0.0.1:2")

    command = host.prepare(places)

    settings = "".join(path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.json"))
    connection = " ".join([*(host.connection(places) or ()), *(command.arguments if host.packages else ())])
    assert places.endpoint in settings + connection
    assert places.model in settings + connection + " ".join(command.variables.values())
    assert "127.0.0.1:3000" not in settings + connection


def test_every_host_is_led_to_all_cases_but_those_with_tasks_to_fetching_and_few_to_a_second_person() -> None:
    left_out = [(host, case) for host in HOSTS for case in CASES if not applies(host, case)]

    assert [host for host, case in left_out if case is FETCH] == [host for host in HOSTS if host.has_tasks]
    assert [host for host, case in left_out if case is DECIDED] == [host for host in HOSTS if not host.header]
    assert all(case in (FETCH, DECIDED) for _, case in left_out)


def test_a_host_that_signs_in_sends_the_header_with_each_request(tmp_path: Path) -> None:
    places = Places(tmp_path, "http://127.0.0.1:1/mcp", "http://127.0.0.1:2", "Bearer abc")

    connected = [host.connection(places) for host in HOSTS if host.header]

    assert connected
    assert all(words and words[-2:] == ["--header", "Authorization: Bearer abc"] for words in connected)


def test_a_question_that_nobody_can_answer_with_a_host_is_read_as_open() -> None:
    read = {host.name: read_by(QUESTION, host) for host in HOSTS}

    assert {name for name, words in read.items() if words == OPEN} == {host.name for host in HOSTS if not host.refund}
    assert read["opencode 1.18.33, opencode run"] == '"status":"not_asked"'
