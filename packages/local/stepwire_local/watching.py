"""Takes over changes of templates, manifests, definitions, functions and stubs while the stack serves.

The rules: one line for each change, good or bad, and one for each thing that tools miss since then; what cannot be
served changes nothing, and is tried again when its files change again. When it is well again, a line says so, even if
nothing differs from before.
"""

from collections.abc import Callable
from functools import partial

from stepwire_local.errors import LocalStackError
from stepwire_local.stack import LocalStack


class Watching:
    """Compares the files of a running stack with what they were when it last looked.

    Args:
        stack: The running stack.
        tell: What receives a line; whether it tells of a fault comes second.
    """

    def __init__(self, stack: LocalStack, tell: Callable[[str, bool], None]) -> None:
        self._stack = stack
        self._tell = tell
        self._seen_stubs = stack.signature_of_stubs()
        self._faults = stack.faults
        self._broken: set[str] = set()
        self._seen = {one.name: one.signature() for one in stack.deployments}

    def look(self) -> None:
        """Take over what has changed since the last look."""
        for deployment in self._stack.deployments:
            signature = deployment.signature()
            if signature != self._seen[deployment.name]:
                self._seen[deployment.name] = signature
                self._take_over(str(deployment.path), "deployed", partial(self._stack.update, deployment))
        stubs = self._stack.signature_of_stubs()
        if stubs != self._seen_stubs:
            self._seen_stubs = stubs
            self._take_over("stubs", "taken over", self._stack.update_stubs)
            for line in self._stack.coverage.unmatched:
                self._tell(line, True)  # noqa: FBT003  # the second argument of `tell`

    def _take_over(self, what: str, done: str, update: Callable[[], list[str]]) -> None:
        """Update something, and say what was done. Whether a manifest in it serves, function catalog says."""
        try:
            changed = update()
        except LocalStackError as error:
            self._broken.add(what)
            words = " ".join(str(error).split())
            self._tell(f"{what}: not taken over, the last good one serves: {words}", True)  # noqa: FBT003  # the second argument of `tell`
            return
        if changed or what in self._broken:
            self._broken.discard(what)
            self._tell(f"{what}: {done}: {', '.join(changed) or 'as before'}", False)  # noqa: FBT003  # the same
        self._tell_of_faults()

    def _tell_of_faults(self) -> None:
        """Tell what tools miss since this change, and not what was told before."""
        for line in self._stack.faults:
            if line not in self._faults:
                self._tell(line, True)  # noqa: FBT003  # the second argument of `tell`
        self._faults = self._stack.faults
