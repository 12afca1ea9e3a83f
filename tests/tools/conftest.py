"""Extend the timeouts of invocations, so that none fails because the machine is busy."""

from stepwire_local.lambdas import functions
from tests.waiting import PATIENT

functions.timeout_scale = PATIENT
