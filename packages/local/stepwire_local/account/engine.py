"""The simulated AWS account: moto in this process, with our patches and dummy credentials.

The rule: while it runs, no request from this process reaches the real AWS. Dummy credentials replace every AWS_*
variable. A request that is signed with them and that moto does not answer fails here, even after the account is closed:
a handler that is still running must not reach the network.

There is one account per process. Several stacks share it under different names; it ends with the last stack.
"""

import json
import logging
import threading
from collections.abc import Collection, Generator, Iterator
from contextlib import ExitStack, contextmanager
from io import BytesIO
from typing import Any

import moto
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.handlers import BUILTIN_HANDLERS
from moto import mock_aws
from moto.core.models import botocore_stubber

from stepwire_local.account import moto_patches
from stepwire_local.account.isolation import ACCESS_KEY, isolated
from stepwire_local.account.moto_patches import express
from stepwire_local.account.service_models import read_models_once
from stepwire_local.account.signing import sign_dummies_quickly
from stepwire_local.errors import EngineError
from stepwire_local.iam import permissions
from stepwire_local.lambdas.environment import separate_function_environments

ACCOUNT = "123456789012"
MOTO_VERSION = "5.2.5"


@contextmanager
def simulated_aws(*, without: Collection[str] = ()) -> Generator[None]:
    """Run the simulated account; `without` names patches to leave out, so that tests can prove their need."""
    check_moto(moto.__version__)
    separate_function_environments()
    with ExitStack() as engine:
        engine.enter_context(isolated())
        engine.enter_context(moto_patches.applied(without=without))
        engine.enter_context(
            mock_aws(
                config={
                    "core": {"mock_credentials": False, "reset_boto3_session": True},
                    "lambda": {"use_docker": False},
                    "stepfunctions": {"execute_state_machine": True},
                }
            )
        )
        # It logs each failing workflow as an error of its own.
        logging.getLogger("moto.stepfunctions").setLevel(logging.CRITICAL)
        yield


class _Shared:
    """The account that the stacks of this process share: opened by the first, closed by the last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._engine = ExitStack()

    @contextmanager
    def open(self) -> Generator[None]:
        with self._lock:
            if self._users == 0:
                self._engine.enter_context(simulated_aws())
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    self._engine.close()


shared_account = _Shared().open


def check_moto(installed: str) -> None:
    """Check that the installed moto is the version that the patches are written for.

    Raises:
        EngineError: it is another version.
    """
    if installed != MOTO_VERSION:
        raise EngineError(
            f"moto {installed} is installed, but stepwire_local/account/moto_patches is for {MOTO_VERSION} only."
        )


class _Body(BytesIO):
    def stream(self, **_: object) -> Iterator[bytes]:
        yield self.read()


def _refuse_the_network(request: Any, **_: object) -> AWSResponse | None:
    """Answer a request with dummy credentials that moto left unanswered: it must not leave the machine."""
    signature = str(request.headers.get("Authorization", "")) + request.url
    if ACCESS_KEY not in signature:
        return None
    running = "it is not simulated" if botocore_stubber.enabled else "the local stack has stopped"
    body = json.dumps({"__type": "NotServedLocally", "message": f"{request.method} {request.url}: {running}."})
    return AWSResponse(
        request.url, 501, HTTPHeaders.from_dict({"content-type": "application/json"}), _Body(body.encode())
    )


# StartSyncExecution has a host of its own, which moto does not know.
BUILTIN_HANDLERS.append(("before-call.sfn.StartSyncExecution", express.to_one_host))
# Every call of every session that is made from now on.
BUILTIN_HANDLERS.append(("before-parameter-build", permissions.check))
sign_dummies_quickly()
read_models_once()
# After moto's own, which was added when it was imported: the first answer counts.
BUILTIN_HANDLERS.append(("before-send", _refuse_the_network))
