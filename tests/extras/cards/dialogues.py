"""For an extra that calls tools in another way: what a host with a card does, in both eras."""

from collections.abc import Callable
from typing import Final

from tests.extras.cards.clients import CARD, client_of
from tests.kits import OUTPUT, World
from tests.server.clients import CARD_CAPABILITY, Endpoint


def a_card(world: World, at: Endpoint) -> None:
    for era in ("modern", "legacy"):
        client = client_of(era, at, CARD_CAPABILITY)
        task_id = client.call("optional").result["_meta"][CARD]["taskId"]
        world.ask(task_id)
        seen = client.call("card_task", {"task_id": task_id}).result["_meta"][CARD]
        answer = {"task_id": task_id, "question": "approval", "token": seen["tokens"]["approval"], "action": "accept"}
        client.call("card_answer", {**answer, "content": {"amount": 7}})
        world.succeed(task_id, OUTPUT)
        client.call("card_task", {"task_id": task_id})
        client.call("confirmed")
        client.call("express")


DIALOGUES: Final[tuple[Callable[[World, Endpoint], None], ...]] = (a_card,)
