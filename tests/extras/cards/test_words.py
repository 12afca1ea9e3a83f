"""Where a model reads that a question is for a person, it reads of the card only if its client declares cards."""

import pytest

from tests.kits import World
from tests.server.test_enough_for_any_model import CLIENTS, asking_a_person, read_alone


@pytest.mark.parametrize("name", CLIENTS)
def test_the_card_is_named_to_a_client_that_declares_cards(name: str) -> None:
    world = World()

    answer = asking_a_person(world, CLIENTS[name](world))

    for read in read_alone(answer):
        assert ("on the card of the task, if this client shows one" in read) == ("cards" in name)
