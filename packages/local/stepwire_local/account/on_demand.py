"""The parts of moto that take a second to import and are hardly ever used: EC2, and AWS Batch, which imports it.

EC2 reads what is known of every instance type. Step Functions imports AWS Batch for the names of its states, and
Systems Manager imports EC2 for the targets of commands. The rule: whoever uses them gets moto's own.
"""

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from typing import Any


class _Backends:
    """What Systems Manager keeps of EC2."""

    def __getitem__(self, account: str) -> Any:
        return import_module("moto.ec2").ec2_backends[account]


def import_on_demand() -> None:
    """Let EC2 and AWS Batch be imported by those who use them; if they are imported already, they stay so."""
    put_off = {name: _put_off(name) for name in ("moto.batch", "moto.ec2") if name not in sys.modules}
    if ec2 := put_off.get("moto.ec2"):
        ec2.ec2_backends = _Backends()
        import_module("moto.ssm.models")
        del ec2.ec2_backends


def _put_off(name: str) -> Any:
    """Return a package whose modules can be imported; its own code runs when a name of it is used."""
    spec: Any = find_spec(name)
    package: Any = module_from_spec(spec)

    def imported(attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        del package.__getattr__
        spec.loader.exec_module(package)
        return getattr(package, attribute)

    package.__getattr__ = imported
    sys.modules[name] = package
    return package
