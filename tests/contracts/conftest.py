"""The simulated AWS account of the adapters; nothing here reaches the real one.

Each module opens and closes it, because other tests check that it is closed.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from layers.models import cut
from stepwire.aws import clients
from stepwire.aws.storage.task_store import task_store
from stepwire.engine.ports import TaskStore
from stepwire_local.account.engine import shared_account
from stepwire_local.lambdas import functions
from tests.contracts.task_stores import places
from tests.fakes import InMemoryTaskStore
from tests.waiting import PATIENT

# Stretch the timeouts of functions, so that no invocation fails because the machine is busy.
functions.timeout_scale = PATIENT


@pytest.fixture(scope="session")
def folder_of_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    cut(folder)
    return folder


@pytest.fixture(scope="module", autouse=True)
def models(folder_of_models: Path) -> Iterator[None]:
    """Build the adapters' clients from the models in the layer, as in Lambda. Other modules of tests use boto3's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clients, "MODELS", folder_of_models)
        clients.builder.cache_clear()
        yield
    clients.builder.cache_clear()


@pytest.fixture(scope="module")
def aws() -> Iterator[None]:
    with shared_account():
        yield


@pytest.fixture(params=places(InMemoryTaskStore, task_store))
def store(request: pytest.FixtureRequest, aws: None) -> TaskStore:
    build: Callable[[], TaskStore] = request.param
    return build()
