"""Each function has its own environment variables."""

import os
import subprocess
import sys
import threading
from os import environ as taken_before

import pytest

from stepwire_local.lambdas.environment import separate_function_environments, variables_of


@pytest.fixture(autouse=True)
def separate_environments() -> None:
    separate_function_environments()


def test_a_function_sees_only_its_own_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OF_THE_PROCESS", "1")

    with variables_of({"OWN": "2"}):
        seen = dict(os.environ)
        looked_up = (os.environ.get("OF_THE_PROCESS"), os.getenv("OWN"), "OWN" in os.environ, len(os.environ))

    assert seen == {"OWN": "2"}
    assert looked_up == (None, "2", True, 1)


def test_a_variable_that_a_function_sets_is_visible_to_it_only() -> None:
    variables = {"GONE": "1"}

    with variables_of(variables):
        os.environ["SET"] = "2"
        os.environ.setdefault("SET", "3")
        del os.environ["GONE"]
        os.environ.update(MORE="4")

    assert variables == {"SET": "2", "MORE": "4"}
    assert not {"SET", "MORE"} & set(os.environ)


def test_an_environ_that_was_imported_before_is_separate_too() -> None:
    with variables_of({"OWN": "2"}):
        assert taken_before["OWN"] == "2"


def test_concurrent_functions_do_not_see_the_variables_of_each_other() -> None:
    seen: dict[str, str] = {}
    gate = threading.Barrier(8)

    def run(name: str) -> None:
        with variables_of({"NAME": name}):
            gate.wait()
            seen[name] = os.environ["NAME"]

    threads = [threading.Thread(target=run, args=(str(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert seen == {str(number): str(number) for number in range(8)}


def test_outside_a_function_the_environment_is_unchanged() -> None:
    os.environ["SET_OUTSIDE_A_FUNCTION"] = "1"

    in_a_child = subprocess.run(
        [sys.executable, "-c", "import os; print(os.environ['SET_OUTSIDE_A_FUNCTION'])"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert in_a_child.stdout == "1\n"
    assert os.environ.pop("SET_OUTSIDE_A_FUNCTION") == "1"
    assert "SET_OUTSIDE_A_FUNCTION" not in os.environ
