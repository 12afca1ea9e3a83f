"""Stepwire over the fakes, with a workflow that asks the user and the client's model, and ends with their answers.

Two instances of the server take turns.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

from stepwire.json_text import load_json
from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire.server.mcp_server import McpServer
from tests.clients.endpoint import ScriptedWorkflows
from tests.kits import FORM, SAMPLING, World
from tests.server.instances import another_instance

KEYS: Final = ("user", "model")


@dataclass
class AskingWork:
    """The endpoint. Its workflow asks both questions as soon as it runs."""

    workflows: ScriptedWorkflows = field(default_factory=ScriptedWorkflows)
    _lock: Any = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.world = World(workflows=self.workflows)
        self._turns: Iterator[McpServer] = itertools.cycle([self.world.server, another_instance(self.world)])

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request."""
        with self._lock:
            response = next(self._turns).handle(request)
            self._go_on()
            return response

    def _go_on(self) -> None:
        begun, self.workflows.begun = self.workflows.begun, []
        for execution in begun:
            task_id = execution.name.rpartition("-")[2]
            self.world.ask(task_id, "user", FORM, token=f"user {task_id}")
            self.world.ask(task_id, "model", token=f"model {task_id}", other={"sampling": SAMPLING})
        for execution in self.workflows.running():
            task_id = execution.name.rpartition("-")[2]
            given = {one.token: one for one in self.workflows.resumptions}
            if all(f"{key} {task_id}" in given for key in KEYS):
                ends = [given[f"{key} {task_id}"] for key in KEYS]
                self.world.succeed(
                    task_id,
                    {key: one.error or load_json(one.output or "{}") for key, one in zip(KEYS, ends, strict=True)},
                )
