"""For tools/game_day: what an operator does about one caller."""

import json
from typing import Final

from tests.waiting import until
from tools.game_day.night import MOST, Night, taken_over
from tools.game_day.operator import Operator
from tools.game_day.regions import client_of, lost, owners_in

HOUR: Final = 3600  # seconds
FLOOD: Final = 40
OTHERS: Final = ("mallory", "erin")


def stolen_token(at: Night) -> str:
    """A token of Alice is in the wrong hands."""
    token = at.token("alice")
    (at.folder / "stolen.txt").write_text(token, encoding="utf-8")
    alice, thief = at.bearer(token), at.bearer(token)
    task_id = alice.call("wait_and_echo", {"message": "hers", "seconds": HOUR}).id_in()
    assert thief.task("get", task_id).result["status"] == "working"

    at.operator.types(f"stepwire caller block --jwt {at.folder / 'stolen.txt'} --yes")
    held = at.until(lambda: thief.task("get", task_id).status == 403)
    at.operator.types(f"stepwire caller cancel-all --jwt {at.folder / 'stolen.txt'} --yes")
    bob = at.client("bob").call("wait_and_echo", {"message": "his", "seconds": HOUR}).id_in()
    assert at.client("bob").task("get", bob).result["status"] == "working", "nobody else notices"
    at.operator.types("stepwire caller unblock --sub alice")
    back = at.until(lambda: at.client("alice").task("get", task_id).status == 200)
    assert at.client("alice").task("get", task_id).result["status"] == "cancelled"
    return f"refused after {held} seconds; let in again after {back}"


def flood(at: Night) -> str:
    """An agent of Carol calls in a loop."""
    carol, dave = at.client("carol"), at.client("dave")
    answers = [carol.call("wait_and_echo", {"message": "again", "seconds": HOUR}) for _ in range(FLOOD)]
    taken = [one.id_in() for one in answers if "result" in one.body]
    others = dave.call("wait_and_echo", {"message": "once", "seconds": HOUR}).id_in()
    assert len(taken) == MOST, "the limits of one caller hold before an operator wakes up"
    assert dave.task("get", others).result["status"] == "working"

    shown = at.operator.types(f"stepwire caller show {taken[0]}")
    assert str(len(taken)) in shown
    at.operator.types(f"stepwire caller block {taken[0]} --yes")
    held = at.until(lambda: carol.ask("tools/list").status == 403)
    at.operator.types(f"stepwire caller cancel-all {taken[0]} --yes")
    assert dave.task("get", others).result["status"] == "working"
    return f"{len(taken)} of {FLOOD} calls began; refused after {held} seconds; Dave was served all the time"


def erased_person(at: Night) -> str:
    """Erin asks for what is held of her, and then to be erased."""
    erin = at.client("erin")
    done = erin.call("wait_and_echo", {"message": "my address", "seconds": 0}).id_in()
    until(lambda: erin.task("get", done).result["status"] == "completed")
    erin.call("wait_and_echo", {"message": "still running", "seconds": HOUR}).id_in()

    exported = at.operator.types("stepwire caller export --sub erin", writes="erin.jsonl")
    assert "my address" in exported
    said = at.operator.types("stepwire caller erase --sub erin --cancel --yes")
    assert "execution" in said, "what stays elsewhere is named"
    left = at.operator.types("stepwire caller export --sub erin")
    assert [json.loads(line)["kind"] for line in left.splitlines()] == ["audit"], (
        "where the logs are is all that is left"
    )
    assert erin.task("get", done).code == -32602
    return "all of it exported and erased; what Step Functions and the logs keep is named"


def blocked_and_erased(operator: Operator) -> tuple[str, ...]:
    """Block Mallory and erase Erin; return the commands, which know both by their hashes."""
    mallory, erin = (operator.types(f"stepwire caller whois --sub {sub}").split()[0] for sub in OTHERS)
    typed = (f"stepwire caller block {mallory} --yes", f"stepwire caller erase {erin} --cancel --yes")
    for line in typed:
        operator.types(line)
    return typed


def lost_region(at: Night) -> str:
    """The Region is gone; a caller was blocked and another erased after the export."""
    owners = owners_in(at.folder)
    left = lost(owners, OTHERS, blocked_and_erased)
    with taken_over(at, owners, left) as there:
        assert client_of(there, "erin").task("get", left.tasks["erin"]).code == -32602
    return "who was erased after the export stays erased"


_PAGE: Final = "extras/callers.md"
SCENES: Final = {
    f"[A stolen token]({_PAGE}#a-stolen-token)": stolen_token,
    f"[A flood]({_PAGE}#a-stolen-token)": flood,
    f"[A person who asks to be erased]({_PAGE}#a-person-asks-to-be-erased)": erased_person,
    f"[A Region that is lost after an erasure]({_PAGE}#a-person-asks-to-be-erased)": lost_region,
}
