"""`stepwire wrap` at a terminal asks who decides, and what the sign-in of approvers has."""

import json
from pathlib import Path

import yaml

from packages.command.tests.terminal import at_a_terminal
from packages.wrap.tests.extras.approvals.test_deciders import ordering


def test_at_a_terminal_the_question_is_asked_and_an_answer_that_is_none_is_asked_again(tmp_path: Path) -> None:
    (tmp_path / "orders.asl.json").write_text(json.dumps(ordering("Ask manager")))
    typed = [("1 or 2 or 3", "9\n"), ("is none of them", "2\n"), ("Their sign-in", "claim=groups:finance\n")]

    session = at_a_terminal(["wrap", "orders.asl.json"], typed, folder=tmp_path)

    manifest = yaml.safe_load((tmp_path / "tools" / "orders.yaml").read_text())
    assert session.code == 0, session.text
    assert manifest["approvers"] == {"claim": "groups", "has": ["finance"]}
