"""Invocations do not time out because the machine is busy."""

from local import functions
from tests.waiting import PATIENT

functions.timeout_scale = PATIENT
