"""The parts of moto that take a second to import and are hardly ever used: EC2, and AWS Batch, which imports it.

EC2 reads what is known of every instance type. Step Functions imports AWS Batch for the names of its states, and
Systems Manager imports EC2 for the targets of commands. The rule: whoever uses them gets moto's own, also who comes
while another thread imports them.
"""

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from threading import RLock
from typing import Any, Final

_importing: Final = RLock()  # what is imported asks for its own names


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
    is_begun = False

    def imported(attribute: str) -> Any:
        nonlocal is_begun
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        with _importing:
            if not is_begun:
                is_begun = True
                spec.loader.exec_module(package)
                del package.__getattr__
        if attribute not in vars(package):
            raise AttributeError(attribute)
        return getattr(package, attribute)

    package.__getattr__ = imported
    sys.modules[name] = package
    return package
