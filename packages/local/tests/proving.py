"""The proof of a patch of moto: its test passes with every patch, and fails without this one.

If the test passes without its patch, that is a failure too (strict xfail): the defect is fixed, and the patch can go.
"""

import threading
from collections.abc import Callable
from typing import Any

import pytest

PASS = {"Type": "Pass"}
WAIT = {"Type": "Wait", "Seconds": 60}


def proof(patch: str) -> pytest.MarkDecorator:
    """Run the test with every patch, and again without this one, where it must fail."""
    lifted = pytest.param(
        {patch}, id=f"without {patch}", marks=pytest.mark.xfail(strict=True, reason="a defect of moto")
    )
    return pytest.mark.parametrize("account", [pytest.param(set[str](), id="patched"), lifted], indirect=True)


def calls_of(owner: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return a list that gets the arguments of each call of a function from now on."""
    calls: list[object] = []
    original = getattr(owner, name)

    def noted(*given: Any, **more: Any) -> Any:
        calls.append(given)
        return original(*given, **more)

    monkeypatch.setattr(owner, name, noted)
    return calls


def together(act: Callable[[], Any], count: int) -> list[Any]:
    """Call a function in several threads at once; return the results and errors."""
    gate = threading.Barrier(count)
    results: list[Any] = []

    def run() -> None:
        gate.wait()
        try:
            results.append(act())
        except Exception as error:  # noqa: BLE001 - whatever it was, the test wants to see it
            results.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
