"""What a client says of a task that it has made of a question, at each fault."""

from typing import Final

from stepwire.extras.client_tasks.notes import made_of
from stepwire.tasks.task import Task
from tests.faults.operation import ANSWERED, Caller, Operation
from tests.faults.seen import ANSWER, Act, Seen, seen_in
from tests.faults.site import Site
from tests.faults.tasks_at_hand import asked
from tests.server.answers import Json
from tests.server.clients import ASKING_CAPABILITY, LegacyClient


def making_tasks(site: Site) -> LegacyClient:
    """Have a client that answers a question with a task of its own."""
    tasks: Json = {"cancel": {}, "requests": {"elicitation": {"create": {}}}}
    return LegacyClient.opened(site, capabilities={**ASKING_CAPABILITY, "tasks": tasks})


def told(status: str) -> Json:
    """Say how a client's task stands."""
    return {"taskId": "a-task", "status": status, "createdAt": "", "lastUpdatedAt": "", "ttl": None}


def about(task: Task, verb: str) -> str:
    """Name our request about a client's task."""
    return f"{task.task_id}.1.{verb}.0.a-task"


def arrange_client_task_made(site: Site) -> Act:
    client, task = making_tasks(site), asked(site)

    def act() -> Seen:
        seen = seen_in(client.respond({"id": f"{task.task_id}.1"}, result={"task": told("working")}))
        assert seen is not Seen.RESULT or [one.has_ended for one in made_of(site.task())] == [False]
        return seen

    return act


def arrange_client_task_ended(site: Site) -> Act:
    client, task = making_tasks(site), asked(site)
    client.respond({"id": f"{task.task_id}.1"}, result={"task": told("working")})

    def act() -> Seen:
        seen = seen_in(client.respond({"id": about(task, "get")}, result=told("completed")))
        assert seen is not Seen.RESULT or [one.has_ended for one in made_of(site.task())] == [True]
        return seen

    return act


def arrange_client_task_result(site: Site) -> Act:
    client, task = making_tasks(site), asked(site)
    client.respond({"id": f"{task.task_id}.1"}, result={"task": told("completed")})

    def act() -> Seen:
        seen = seen_in(client.respond({"id": about(task, "result")}, result=ANSWER))
        site.outputs[task.execution] = ANSWER if seen is Seen.RESULT else site.outputs.get(task.execution)
        return seen

    return act


def arrange_client_task_lost(site: Site) -> Act:
    client, task = making_tasks(site), asked(site)
    client.respond({"id": f"{task.task_id}.1"}, result={"task": told("working")})

    def act() -> Seen:
        seen = seen_in(client.respond({"id": about(task, "get")}, error={"code": -32602, "message": "not found"}))
        left = site.task()
        is_asked_again = [one.key for one in left.input_requests] == ["approval#2"] and not made_of(left)
        assert seen is not Seen.RESULT or is_asked_again
        return seen

    return act


OPERATIONS: Final = (
    Operation("client's task created", Caller.CLIENT, ("GetItem task", "PutItem task"), arrange_client_task_made),
    Operation("client's task ended", Caller.CLIENT, ("GetItem task", "PutItem task"), arrange_client_task_ended),
    Operation("client's task, result", Caller.CLIENT, ("GetItem task", *ANSWERED), arrange_client_task_result),
    Operation(
        "client's task lost", Caller.CLIENT, ("GetItem task", "PutItem task", "PutItem task"), arrange_client_task_lost
    ),
)
