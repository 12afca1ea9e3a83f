"""For tests/integration/test_policies.py: permissions that no call there uses."""

from typing import Final

_PROBE: Final = "the probe, which calls over HTTP: tests/extras/operations/test_probe.py"
OF_OTHER_TESTS: Final = {
    ("SignInAsTheProbe", "secretsmanager:getsecretvalue"): _PROBE,
}
