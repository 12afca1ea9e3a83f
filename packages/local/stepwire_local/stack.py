"""Stacks on this machine: the resources of one template or several, and the endpoint in front of them.

Used by the tests, the demo and the command line (__main__.py). Nothing of a stack remains when its block ends.
"""

import itertools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self

from stepwire_local.account import stub_machines, tasks
from stepwire_local.account.engine import ACCOUNT, shared_account
from stepwire_local.account.for_functions import AccountForFunctions
from stepwire_local.account.isolation import REGION
from stepwire_local.account.moto_patches.changes import forget
from stepwire_local.account.moto_patches.executions import stop
from stepwire_local.account.moto_patches.streams import written
from stepwire_local.account.moto_patches.waits import shorten
from stepwire_local.account.services import CONTAINER_HOST, Services
from stepwire_local.account.status_events import EventPolicy, at_once, courier, never
from stepwire_local.cloudformation.deployment import Deployment
from stepwire_local.cloudformation.parameters import asked_for, made_up
from stepwire_local.cloudformation.resources.kinds import World
from stepwire_local.cloudformation.template import Template
from stepwire_local.errors import FunctionLoadError, LocalStackError, TemplateError
from stepwire_local.extras import Part, extras
from stepwire_local.gateway.exchanges import Exchange
from stepwire_local.gateway.function_urls import FunctionUrl
from stepwire_local.gateway.http_api import Api
from stepwire_local.gateway.server import HOST, Application, Gateway, listen, serving, tell_nobody
from stepwire_local.iam import permissions
from stepwire_local.lambdas import asynchronous, functions
from stepwire_local.lambdas.functions import Function
from stepwire_local.lambdas.invocations import Failed
from stepwire_local.streams.expiry import ExpiryPolicy, Sweeper
from stepwire_local.streams.mappings import Mapping as StreamMapping
from stepwire_local.streams.mappings import MappingSettings
from stepwire_local.streams.queues import QueueMapping
from stepwire_local.streams.refused_tools import RefusalWatch
from stepwire_local.streams.schedules import Clockwork, Schedule
from stepwire_local.streams.task_changes import Observer, TaskWatch, Told
from stepwire_local.stubs import owners
from stepwire_local.stubs.book import Book, Given
from stepwire_local.stubs.scripts import LIMIT, Scripts
from stepwire_local.survey.coverage import Coverage, coverage
from stepwire_local.survey.tools import faults

_numbers = itertools.count(1)

ENDPOINT: Final = "McpEndpoint"
"""The output by which an endpoint of Stepwire is known; without it, an application speaks no MCP."""

# The default address of `sam local start-api`.
_START_API = "http://127.0.0.1:3000"


class FunctionError(Exception):
    """An invoked function failed."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(f"{error['errorType']}: {error['errorMessage']}")
        self.error_type: str = error["errorType"]
        self.message: str = error["errorMessage"]
        self.stack_trace: list[str] = error.get("stackTrace") or error.get("trace") or []


class Watcher(Observer, Protocol):
    """Observes a stack without changing it."""

    def answered(self, exchange: Exchange) -> None:
        """Receive a request to the API and its response."""
        ...


class LocalStack:
    """Serves a template while its block runs, and other stacks beside it.

    One process can run several, in sequence or together. They share the simulated account, so their templates must not
    give resources the same explicit names.

    Args:
        template: The SAM template; paths in it are relative to its folder.
        others: Templates of stacks beside it, such as those that register tools. If one declares the parameter
            `Endpoint`, that defaults to the name of the first stack. No client waits for what they register: it is
            compiled when the block begins.
        name: The name of the first stack; default: one that no other has.
        region: The Region in which it is.
        taken_over: Names of a table or bucket that the first stack takes over, by their logical ids, as a change set of
            type IMPORT does. They must be there.
        port: The port on 127.0.0.1; 0 takes any free one.
        parameters: Values of the parameters of whichever template declares them. If declared, `Authorizer` defaults
            to `none`, `AllowedOrigins` to this endpoint's own origins and, with `FrontDoor`, `EndpointUrl` to its URL.
        variables: Environment variables that each function has besides those of its template.
        events: Policy for the delivery of executions' status events; can be changed while the stack runs.
        expiry: Policy for the delay, in seconds, between an item's TTL and its removal: `never`, `at_once`,
            `after(seconds)` or a function. Of several delays the first counts. Can be changed while the stack runs.
        instances: The number of copies of each function. Invocations go to them in turn, and they share no memory:
            state that must survive an invocation must be stored.
        stubs: Names and files of stubs, which answer for what cannot run here. They win over the files in the folder
            `stubs` beside a template.
        stub_seconds: The time that a stub's script may take.
        longest_wait: The seconds that a Wait state, and the interval of a retry, takes at most; None: as it says.
        fires_schedules: Let schedules fire by themselves when they are due; `fire` lets one fire in either case.
        services_at: Serve the account's AWS services at this IPv4 address of the machine, instead of the template's
            API, which another program serves: `sam local start-api`, on its default port.
        make_up_parameters: Make up the values of parameters that have neither a default nor a given one.

    Raises:
        LocalStackError: on entering the block, with one line that says why the template cannot be served.
    """

    def __init__(  # noqa: PLR0913  # each is a choice of its own, by name
        self,
        template: str | Path,
        *,
        others: Sequence[str | Path] = (),
        name: str | None = None,
        region: str = REGION,
        taken_over: Mapping[str, str] | None = None,
        port: int = 0,
        parameters: Mapping[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
        events: EventPolicy = at_once,
        expiry: ExpiryPolicy = never,
        instances: int = 1,
        stubs: Given = (),
        stub_seconds: float = LIMIT,
        longest_wait: float | None = None,
        fires_schedules: bool = False,
        services_at: str | None = None,
        make_up_parameters: bool = False,
    ) -> None:
        self._paths = [Path(template), *map(Path, others)]
        self._name = name
        self._region = region
        self._taken_over = dict(taken_over or {})
        self._wanted_port = port
        self._given = dict(parameters or {})
        self._instances = instances
        self._given_stubs = tuple(stubs)
        self._scripts = Scripts(stub_seconds)
        self._longest_wait = longest_wait
        self._fires_schedules = fires_schedules
        self._services_at = services_at
        self._variables = dict(variables or {})
        self._makes_up = make_up_parameters
        self._account = AccountForFunctions(region)
        self.made_up: dict[str, str] = {}  # values of parameters that nobody gave
        self.watcher: Watcher | None = None  # observes requests and tasks; set it before the block
        self.front: Callable[[Application], Application] = lambda api: api  # what stands before the API; likewise
        self.tell: Callable[[Told], None] = lambda _: None  # receives what extras say of tasks; likewise
        self.parts: tuple[Part, ...] = tuple(one.part(self) for one in extras())
        self.events = events
        self.expiry = expiry
        self.port = 0
        self.outputs: dict[str, str] = {}
        self.not_served: tuple[str, ...] = ()  # what of these templates is not served, or not as in AWS
        self.differences: tuple[str, ...] = ()  # from AWS, of every application that has such resources
        self.coverage = Coverage((), (), ())
        self.faults: tuple[str, ...] = ()  # what tools miss
        self.deployments: tuple[Deployment, ...] = ()  # the endpoint's first
        self._exit = ExitStack()

    @property
    def base_url(self) -> str:
        """Return the URL that stands for the API's domain."""
        return _START_API if self._services_at else f"http://{HOST}:{self.port}"

    @property
    def services_url(self) -> str:
        """Return the endpoint of the AWS services for containers, which cannot reach a loopback address of the host."""
        loopback = ip_address(self._services_at or HOST).is_loopback
        return f"http://{CONTAINER_HOST if loopback else self._services_at}:{self.port}"

    @property
    def name(self) -> str:
        """Return the name of the first stack."""
        return self.deployments[0].name

    @property
    def region(self) -> str:
        """Return the Region of the stacks."""
        return self._region

    @property
    def template(self) -> Template:
        """Return the first template, translated."""
        return self.deployments[0].template

    @property
    def physical_ids(self) -> Mapping[str, str]:
        """Map logical ids to physical ids, in all stacks; of several with one logical id, the first stack's counts."""
        return {name: found for one in reversed(self.deployments) for name, found in one.physical_ids.items()}

    @property
    def functions(self) -> Mapping[str, Function]:
        """Return the functions by their logical ids; of several with one, the first stack's."""
        return {name: found for one in reversed(self.deployments) for name, found in one.world.functions.items()}

    @property
    def schedules(self) -> Sequence[Schedule]:
        """Return the schedules of all stacks."""
        return [found for one in self.deployments for found in list(one.world.schedules.values())]

    @property
    def function_urls(self) -> Sequence[FunctionUrl]:
        """Return the function URLs of all stacks."""
        return [url for one in self.deployments for url in one.world.urls]

    @property
    def is_mcp(self) -> bool:
        """Return whether the first stack is an endpoint of Stepwire."""
        return ENDPOINT in self.outputs

    @property
    def url(self) -> str:
        """Return the URL of the MCP endpoint, or of the API of another application."""
        return self.outputs.get(ENDPOINT, self.base_url)

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            self._start(undo)
            self._exit = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exit.close()

    def client(self, service: str) -> Any:
        """Return a boto3 client of the simulated account, e.g. `client("dynamodb")`."""
        return self.deployments[0].world.client(service)

    def invoke(self, function: str, event: Any, alias: str = "") -> Any:
        """Invoke a function by its logical id, and perhaps by an alias, and return its result.

        Raises:
            FunctionError: the function failed or timed out.
        """
        outcome = self.functions[function].invoke(json.dumps(event), alias)
        result = json.loads(outcome.payload)
        if isinstance(outcome, Failed):
            raise FunctionError(result)
        return result

    def expire(self, at: datetime | None = None) -> int:
        """Remove the items whose TTL is over at a time (default: now), whatever the policy; return their number."""
        return self._sweeper.sweep(at or datetime.now(UTC), at_once)

    def fire(self, schedule: str) -> None:
        """Let a schedule fire now, by the logical id of its rule or schedule; a disabled one too.

        Raises:
            LocalStackError: there is none of this name; the message lists those that there are.
        """
        found = next((one for one in self.schedules if one.name == schedule), None)
        if found is None:
            known = ", ".join(one.name for one in self.schedules) or "none"
            raise LocalStackError(f"There is no schedule {schedule}. The schedules: {known}.")
        found.fire(datetime.now(UTC))

    def update(self, deployment: Deployment) -> list[str]:
        """Take over what has changed in a template and the files that it names; return the logical ids concerned.

        Raises:
            LocalStackError: it cannot be served; the last good one goes on serving.
        """
        known, known_urls = list(deployment.world.mappings), list(deployment.world.urls)
        try:
            changed = deployment.update()
            self._look()
            return changed
        finally:
            self._follow()
            for mapping in [one for one in deployment.world.mappings if one not in known]:
                mapping.start()
                self._exit.callback(mapping.stop)
            for url in [one for one in deployment.world.urls if one not in known_urls]:
                url.start()

    def signature_of_stubs(self) -> object:
        """Return what changes with the files of stubs."""
        return [one.world.stubs.signature() for one in self.deployments]

    def update_stubs(self) -> list[str]:
        """Take over what has changed in the files of stubs; return the names concerned.

        Raises:
            LocalStackError: one cannot be used; the last good ones go on answering.
        """
        changed = [name for one in self.deployments for name in one.world.stubs.read()]
        if changed:
            self._stand_in()
            for one in self.deployments:
                self.update(one)
        return list(dict.fromkeys(changed))

    def write_stubs(self, *, every: bool = False) -> list[Path]:
        """Write files of stubs for what cannot run here, or for every task, and take them over; return the new files.

        Raises:
            StubError: a file cannot be written.
        """
        # Here, because only made-up answers need what reads code and the models of services.
        from stepwire_local.survey.stub_files import write_stubs  # noqa: PLC0415

        written = [path for one in self.deployments for path in write_stubs(one.world, every=every)]
        self.update_stubs()
        return written

    def drain(self, *, within: float = 120.0) -> None:
        """Wait until nothing is under way in the background: what is due has been processed or given up.

        That is status events, asynchronous invocations, records of streams and messages of queues.

        Raises:
            TimeoutError: it takes longer than so many seconds.
        """
        end = time.monotonic() + within
        while not self._is_at_rest():
            if time.monotonic() > end:
                raise TimeoutError(f"Something is still under way in the background after {within} seconds.")
            time.sleep(0.005)

    def _is_at_rest(self) -> bool:
        """Look at each in the order in which one causes another, and whether one has begun meanwhile."""
        before = written.count, asynchronous.begun()
        parts = sorted(self._mappings(), key=lambda mapping: isinstance(mapping, QueueMapping))
        return (
            courier.has_delivered()
            and asynchronous.is_idle(self.functions.values())
            and all(mapping.has_caught_up() for mapping in parts)
            and before == (written.count, asynchronous.begun())
        )

    def _start(self, undo: ExitStack) -> None:
        undo.enter_context(shared_account())
        listener = listen(self._wanted_port, self._services_at or HOST)
        undo.callback(listener.close)
        self.port = listener.getsockname()[1]
        name = self._name or f"local-{next(_numbers)}"
        names = [name, *(f"local-{next(_numbers)}" for _ in self._paths[1:])]
        paths = list(zip(names, self._paths, strict=True))
        worlds = [self._world(name, *one, is_endpoint=one is paths[0]) for one in paths]
        self.deployments = tuple(Deployment(path, world) for (_, path), world in zip(paths, worlds, strict=True))
        undo.callback(self._account.close)
        undo.callback(self._forget)
        undo.callback(self._stop_urls)
        self._stand_in()
        self._look_for_parameters(name)
        for deployment in self.deployments:
            own = self._url_of_endpoint() if deployment is self.deployments[0] else {}
            deployment.create(self._defaults() | own | {"Endpoint": name}, self._given_to(deployment))
        self._follow()
        self._warm()
        self._publish()
        self._sweeper = Sweeper(self.deployments[0].world.tables, ACCOUNT, self._region, lambda: self.expiry)
        clockwork = [Clockwork(lambda: self.schedules)] if self._fires_schedules else []
        for machinery in (*self._mappings(), *self._watches(), self._sweeper, *clockwork):
            machinery.start()
            undo.callback(machinery.stop)
        # Tools are registered by events: the first client must not come before they are compiled.
        self.drain()
        undo.enter_context(serving(self._front(), listener))
        for url in self.function_urls:
            url.start()
        self._look()
        undo.callback(self._scripts.close)  # first of all: nothing waits for a script that is to be ended

    def _world(self, endpoint: str, name: str, path: Path, *, is_endpoint: bool) -> World:
        stubs = Book(self._given_stubs, path.parent, endpoint, self._scripts)
        stubs.read()
        return World(
            name,
            ACCOUNT,
            self._region,
            instances=self._instances,
            stubs=stubs,
            variables=self._variables,
            services_url=self._account.url,
            is_endpoint=is_endpoint,
            taken_over=self._taken_over if is_endpoint else {},
            port=self._wanted_port,
            answered=self._answered,
        )

    def _answered(self, exchange: Exchange) -> None:
        if self.watcher is not None:
            self.watcher.answered(exchange)

    def _stop_urls(self) -> None:
        for url in self.function_urls:
            url.stop()

    def _stand_in(self) -> None:
        """Create the state machines that are known by the name of a stub alone."""
        book = self.deployments[0].world.stubs
        for stub in book.all():
            if stub_machines.is_machine(stub.name):
                stub_machines.ensure(stub.name, book)

    def _look(self) -> None:
        worlds = [one.world for one in self.deployments]
        self.coverage, self.faults = coverage(worlds), tuple(faults(worlds))

    def _look_for_parameters(self, endpoint: str) -> None:
        """Ask for all parameters that have no value, of all templates at once, or make their values up."""
        known = {**self._defaults(), "Endpoint": endpoint, **self._given}
        missing = {name: one for each in self.deployments for name, one in each.without_value(known).items()}
        found = {name: made_up(name, one) for name, one in missing.items()} if self._makes_up else {}
        self.made_up = {name: value for name, value in found.items() if value is not None}
        self._given |= self.made_up
        if unknown := {name: one for name, one in missing.items() if name not in self.made_up}:
            raise TemplateError(asked_for(unknown))

    def _given_to(self, deployment: Deployment) -> dict[str, str]:
        """Return the parameters that a template declares; the first one gets, and refuses, those that none declares."""
        declared = set(deployment.declared())
        if deployment is not self.deployments[0]:
            return {name: value for name, value in self._given.items() if name in declared}
        elsewhere = {name for one in self.deployments[1:] for name in one.declared()} - declared
        return {name: value for name, value in self._given.items() if name not in elsewhere}

    def _mappings(self) -> list[StreamMapping | QueueMapping]:
        return [mapping for one in self.deployments for mapping in one.world.mappings]

    def _follow(self) -> None:
        for arn in self._state_machines():
            courier.follow(arn, lambda: self.events)
            shorten(arn, self._longest_wait)

    def _state_machines(self) -> list[str]:
        return [arn for one in self.deployments for arn in one.world.state_machines]

    def _defaults(self) -> dict[str, str]:
        # Behind a REST API, whose own URL has its stage in its path, the template wants to be told of another.
        address = {"EndpointUrl": f"{self.base_url}/mcp"} if "FrontDoor" in self._given else {}
        return {
            "Authorizer": "none",
            "AllowedOrigins": f"{self.base_url},{self.base_url.replace(HOST, 'localhost')}",
            **address,
        }

    def _url_of_endpoint(self) -> dict[str, str]:
        """Return the parameter with which the first template's own links lead here; with `sam local`, it serves."""
        return {} if self._services_at is not None else {"EndpointUrl": f"{self.base_url}/mcp"}

    def _front(self) -> Application:
        if self._services_at is not None:
            return Services(self._services_at, self._region)
        return self.front(Gateway(self.api(), self.watcher.answered if self.watcher else tell_nobody))

    def _warm(self) -> None:
        for logical_id, function in self.functions.items():
            try:
                function.warm()
            except LocalStackError:
                raise
            except Exception as error:
                raise FunctionLoadError(f"{logical_id}: {error}") from error

    def _publish(self) -> None:
        domains = [f"https://{one.world.api.domain}" for one in self.deployments if one.world.api]
        for deployment in reversed(self.deployments):
            for name, value in deployment.outputs.items():
                self.outputs[name] = value
                for domain in domains:
                    self.outputs[name] = self.outputs[name].replace(domain, self.base_url)
        worlds = [one.world for one in self.deployments]
        self.not_served = tuple(dict.fromkeys(note for one in worlds for note in one.notes))
        self.differences = tuple(dict.fromkeys(note for one in worlds for note in one.differences))

    def _watches(self) -> Sequence[StreamMapping]:
        """Return readers of each table's stream: of tasks, for the watcher; of refused tools, for the log."""
        if self.watcher is None:
            return ()
        watch = TaskWatch(self.watcher, [part.written for part in self.parts], self.tell)
        client = self.client("dynamodb")
        tables = self.deployments[0].world.tables
        found = [client.describe_table(TableName=name)["Table"].get("LatestStreamArn") for name in tables]
        streams = [arn for arn in found if arn]
        tasks = [StreamMapping(MappingSettings(arn, watch, is_own=True), latest=True) for arn in streams]
        return [*tasks, *(StreamMapping(MappingSettings(arn, RefusalWatch(), is_own=True)) for arn in streams)]

    def api(self) -> Api:
        """Return the API that the first template describes, with its routes; without any, an empty one."""
        world = self.deployments[0].world
        return replace(world.api or Api("none", ACCOUNT, self._region), routes=tuple(world.routes))

    def _forget(self) -> None:
        """Stop the executions without status events, and unregister the functions and roles."""
        books = [one.world.stubs for one in self.deployments]
        machines = [*self._state_machines(), *(arn for book in books for arn in stub_machines.made_for(book))]
        courier.forget(machines)
        for arn in machines:
            courier.follow(arn, lambda: never)
            shorten(arn, None)
        for machine in filter(None, map(tasks.found, machines)):
            for execution in machine.executions:
                stop(execution)
        courier.forget(machines)
        for book in books:
            stub_machines.remove(book)
            owners.unregister(book)
        for world in (one.world for one in self.deployments):
            for function in world.functions.values():
                functions.unregister(function)
            forget(world.parameters, ACCOUNT, self._region)
            for role in world.roles.values():
                permissions.unregister(role)
