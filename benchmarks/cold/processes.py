"""Run the contenders, each in a process of its own, and read what they measured of themselves."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.cold.aws import Aws
from benchmarks.cold.contenders import Contender
from tests.cold_start import CREDENTIALS

PATIENCE: Final = 60  # seconds


@dataclass(frozen=True)
class Run:
    """One cold start: from the first import to the answer."""

    cpu: float
    """Seconds of user and system time, of child processes too."""
    wall: float
    modules: int
    """Modules that were imported."""
    aws_calls: tuple[str, ...]
    answer: Any


def run(contender: Contender, event: Mapping[str, Any], aws: Aws) -> Run:
    """Run a contender; it must answer with a result.

    Raises:
        RuntimeError: it failed, or answered with an error.
    """
    aws.called.clear()
    # As in Lambda, bytecode is cached, and nothing of this shell decides how Python starts.
    variables = {
        "PATH": os.environ["PATH"],
        "AWS_ENDPOINT_URL": aws.endpoint,
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        **dict.fromkeys(CREDENTIALS, "a key"),
        "EVENT": json.dumps(event),
        **contender.variables,
    }
    done = subprocess.run(  # noqa: S603 - the words are ours
        contender.command(), env=variables, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    figures, _, answer = done.stdout.rstrip("\n").rpartition("\n")
    if done.returncode or '"result"' not in answer:
        raise RuntimeError(f"{contender.name} did not answer: {answer[-500:]}\n{done.stderr[-2000:]}")
    cpu, wall, modules = figures.rpartition("\n")[2].split()
    return Run(float(cpu), float(wall), int(modules), tuple(aws.called), json.loads(answer))
