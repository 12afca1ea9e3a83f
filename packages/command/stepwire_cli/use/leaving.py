"""What happens to a task when its watcher goes: Ctrl-C, a question that nobody answers, or a lost connection.

The rule: nothing is lost. The task runs on, and its id is printed with the command that comes back to it.
"""

import asyncio
from dataclasses import dataclass
from typing import Final

from stepwire_cli.screen import Screen, spoken
from stepwire_cli.settings import Settings
from stepwire_client import Completed, Failed, Pace, Task

_LONGEST: Final = Pace().longest


@dataclass
class Watched:
    """The task that is being followed, as far as it is known."""

    settings: Settings
    screen: Screen
    task_id: str | None = None
    is_sent: bool = False
    """Whether a call is on its way whose task is not known yet."""
    is_asking: bool = False
    """Whether a person is being asked before there is a task."""
    may_start: bool = False
    """Whether the command begins a task, and has not sent the call yet."""
    wanted: str | None = None
    """The task that the command is about, and has not seen yet."""
    retry: str = ""
    """The command that finds, or begins, the task of the call that is on its way; empty for a tool without tasks."""
    main: "asyncio.Task[object] | None" = None
    is_unanswered: bool = False
    """Whether nobody answered a question."""
    is_asked: bool = False
    """Whether the task waits for an answer."""
    values: str = ""
    """The values of the answer, as they are typed; empty if they are not known."""
    is_slow: bool = False
    """Whether the server wants polls that are too rare, and it was said."""

    def show(self, task: Task) -> None:
        """Show a state; the first time, the id."""
        if self.task_id is None:
            self.begin(task.task_id)
        if not self.is_slow and (task.poll_interval or _LONGEST) > _LONGEST:
            self.is_slow = True
            kept = spoken(_LONGEST)
            self.screen.say(f"The server asks for more than {kept} between two polls; it is asked every {kept}.")
        is_error = isinstance(task, Failed) or (isinstance(task, Completed) and task.result.is_error)
        if not is_error:  # its words are printed as the error
            self.screen.progress(task.status, task.status_message)

    def begin(self, task_id: str) -> None:
        """Take note of the task, and print its id."""
        self.task_id, self.is_sent = task_id, False
        self.screen.say(f"task {task_id}")

    def come_back(self) -> str:
        """Return the command that follows the task."""
        return self.settings.command("tasks", "watch", self.task_id or "")

    def has_left(self) -> bool:
        """Tell whether Ctrl-C came, and the command has not ended yet."""
        return self.main is not None and self.main.cancelling() > 0

    async def leave_unanswered(self) -> None:
        """End the command, because nobody answers; the task waits."""
        self.is_unanswered = True
        if self.main is not None:
            self.main.cancel()
        await asyncio.Event().wait()  # until the command ends

    def tell(self) -> None:
        """Say where the task can be found again."""
        if self.task_id is not None and self.is_asked:
            how = f"at a terminal, or with values ({self.values})" if self.values else "at a terminal, or with values"
            self.screen.say(f"The task {self.task_id} waits for an answer. Answer it {how}:")
            self.screen.say(f"  {self.settings.command('tasks', 'answer', self.task_id)}")
        elif self.is_unanswered:
            why = "was left open" if self.screen.is_interactive else "needs a terminal, at which a person answers"
            self.screen.say(f"The tool asks a question first, which {why}. Nothing was started or decided.")
        elif self.task_id is not None:
            self.screen.say(f"The task {self.task_id} runs on. Come back with:")
            self.screen.say(f"  {self.come_back()}")
        elif self.is_sent and not self.retry:
            self.screen.say(
                "The call was sent, and its answer was not waited for. Nothing keeps it: a new call runs anew."
            )
        elif self.is_sent:
            self.screen.say("The call was sent, and its answer was not waited for. This finds its task, or begins it:")
            self.screen.say(f"  {self.retry}")
        elif self.wanted is not None:
            self.screen.say(f"The task {self.wanted} was not reached. Come back with:")
            self.screen.say(f"  {self.settings.command('tasks', 'watch', self.wanted)}")
        elif self.may_start:
            self.screen.say("Nothing was started.")
