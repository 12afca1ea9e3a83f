"""Infer a schema from some inputs, and hold it against inputs that it has not seen."""

import random
from dataclasses import dataclass

from benchmarks.inference.workloads import Workload, wrongs
from stepwire.json_text import write
from stepwire.schemas.validation import conforms
from stepwire_wrap.definitions.drafts import History, Machine, draft
from stepwire_wrap.definitions.samples import seen_in


@dataclass(frozen=True)
class Shares:
    """How an inferred schema judges inputs."""

    accepted: float
    """Share of right inputs that it accepts."""
    refused: float
    """Share of wrong inputs that it refuses."""


def shares(workload: Workload, runs: int, held_back: int, seed: int) -> Shares:
    """Return how a schema judges inputs that it was not inferred from.

    Args:
        workload: the state machine.
        runs: how many inputs the schema is inferred from.
        held_back: how many right ones, and how many wrong ones, it is held against.
        seed: of all chance.
    """
    chance = random.Random(f"{workload.name} {seed}")  # noqa: S311 - no secret
    history = History(inputs=seen_in(workload.right(chance) for _ in range(runs)))
    machine = Machine("arn:aws:states:eu-central-1:123456789012:stateMachine:one", "one", workload.definition)
    schema = write(draft("one", machine, history).manifest["input_schema"])
    right = sum(conforms(schema, workload.right(chance)) for _ in range(held_back))
    wrong = sum(not conforms(schema, wrongs(workload, chance)) for _ in range(held_back))
    return Shares(right / held_back, wrong / held_back)


def mean_shares(workload: Workload, runs: int, *, held_back: int = 200, seeds: int = 20) -> Shares:
    """Return the mean over several histories of one state machine."""
    found = [shares(workload, runs, held_back, seed) for seed in range(seeds)]
    return Shares(sum(one.accepted for one in found) / seeds, sum(one.refused for one in found) / seeds)
