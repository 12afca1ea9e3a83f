"""The largest note that there can be."""

from stepwire.extras.client_tasks.notes import LONGEST_INTERVAL, MOST_CLIENT_TASKS, NAME, ClientTask, made_of, noted
from stepwire.tasks.events import Noted
from stepwire.tasks.task import Task
from tests.kits import World


def noted_most(world: World, task: Task) -> Task:
    """Note as many tasks of clients as there may be, each as long as it may be."""
    for one in range(MOST_CLIENT_TASKS):
        made = ClientTask(1, "d" * 32, f"{one:02d}".ljust(128, '"'), LONGEST_INTERVAL)
        task = world.recorder.record(task, Noted(NAME, noted(made))) or task
    assert len(made_of(task)) == MOST_CLIENT_TASKS
    return task
