"""What of approvals is in use: questions that wait for others than the caller."""

from typing import Final

from stepwire.extras.approvals import NAME
from stepwire.tasks.task import Task
from stepwire_cli.deployment.in_use import Contents, Use


def _open_questions(contents: Contents) -> str:
    return contents.tasks.count(_questions_in)


def _questions_in(task: Task) -> int:
    return sum(one.audience.extra == NAME for one in task.questions)


USES: Final = (
    Use(
        "questions that wait for others than the caller",
        "nobody can decide them: one that expires fails the state that asks, and so does each new one. They stay, with "
        "the votes that they have, and can be decided when the extra is back.",
        "Have them decided first, or cancel their tasks.",
        _open_questions,
    ),
)
