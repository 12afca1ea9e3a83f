"""An endpoint whose questions finance decides, on the local stack: a caller who asks, and browsers of approvers."""

import json
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import httpx

from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire_local import LocalStack, at_once
from stepwire_local.console import Console, Watchers
from stepwire_local.extras.approvals.sign_in import page_signs_in_at
from stepwire_local.issuer import SHAPES, LocalIssuer
from tests.ports import free_port
from tests.server.clients import TASKS_CAPABILITY, ModernClient
from tests.template.chosen import OFF
from tests.waiting import HANG_GUARD, until

ROOT: Final = Path(__file__).parents[4]
TOOLS: Final = Path(__file__).parent / "template.yaml"
CALLER: Final = "carla"
PEOPLE: Final = {"carla": ["finance"], "frida": ["finance"], "felix": ["finance"], "sam": ["sales"]}
FORM: Final = {"type": "object", "properties": {"note": {"type": "string", "maxLength": 40}}}
RESTATING: Final = {
    "type": "object",
    "properties": {"approved": {"type": "boolean", "title": "Approved"}, "note": {"type": "string"}},
    "required": ["approved"],
}
"""A form that asks for the decision a second time."""
COOKIE: Final = "__Host-stepwire-approval"
Json = dict[str, Any]


@dataclass
class Caller:
    """Who calls the tool, over HTTP."""

    url: str
    token: str = ""

    @property
    def server(self) -> "Caller":
        """The endpoint itself."""
        return self

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Send a request."""
        signed = {"authorization": f"Bearer {self.token}"} if self.token else {}
        sent = {**request.headers, **signed}
        answer = httpx.request(
            request.method, self.url, headers=sent, content=bytes(request.body), timeout=HANG_GUARD, trust_env=False
        )
        return HttpResponse(answer.status_code, answer.text, dict(answer.headers))


@dataclass(frozen=True)
class Question:
    """A question that waits for others."""

    task_id: str
    event: Json
    """The detail of its event."""

    @property
    def urls(self) -> list[str]:
        """Its links."""
        return [one["url"] for one in self.event["links"]]

    @property
    def url(self) -> str:
        """Its only link."""
        (url,) = self.urls
        return url


@dataclass
class Browser:
    """A browser without JavaScript, with its cookies."""

    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    cookies: dict[str, str] = field(default_factory=dict[str, str])

    def get(self, url: str, **headers: str) -> httpx.Response:
        """Open a URL, without following a redirect."""
        return self.send("GET", url, headers=headers)

    def send(self, method: str, url: str, *, headers: Mapping[str, str] | None = None, **more: Any) -> httpx.Response:
        """Send a request with the cookies of this browser."""
        kept = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        sent = {**self.headers, **({"cookie": kept} if kept else {}), **(headers or {})}
        answer = httpx.request(method, url, headers=sent, timeout=HANG_GUARD, trust_env=False, **more)
        for line in answer.headers.get_list("set-cookie"):
            name, _, value = line.partition(";")[0].partition("=")
            self.cookies[name] = value
            if not value:
                del self.cookies[name]
        return answer

    def submit(self, page: httpx.Response, decision: str, **filled: Any) -> httpx.Response:
        """Send the form of a page, with some fields filled in and a button pressed."""
        form = form_of(page.text)
        data = {**form.values, **filled, "decision": decision}
        site = {"sec-fetch-site": "same-origin", "origin": "null"}
        return self.send("POST", str(page.url.join(form.action)), data=data, headers=site)


@dataclass
class Desk:
    """The endpoint."""

    stack: LocalStack
    issuer: LocalIssuer | None
    queue: str

    @property
    def origin(self) -> str:
        """Of the endpoint."""
        return self.stack.base_url

    def ask(self, caller: str = CALLER, tool: str = "pay", **arguments: Any) -> Question:
        """Call the tool, and return the question that it asks."""
        given = {"amount": 700, "note": "lunch", "secret": "xyzzy", "message": "Pay 700?", "form": FORM, **arguments}
        task_id = self.client(caller).call(tool, given).id_in()
        return Question(task_id, self.event_of(task_id, "asked"))

    def client(self, caller: str = CALLER, capabilities: Json = TASKS_CAPABILITY) -> ModernClient:
        """Return the client of a person."""
        token = self.token(caller) if self.issuer else ""
        return ModernClient(Caller(self.stack.url, token), capabilities=capabilities)

    def token(self, subject: str, **claims: Any) -> str:
        """Return an access token of a person for the endpoint."""
        assert self.issuer is not None
        usual = {"iss": self.issuer.url, "sub": subject, "aud": self.stack.url, "exp": 4_000_000_000}
        return self.issuer.sign({**usual, "groups": PEOPLE.get(subject, []), **claims})

    def answer_of(self, question: Question) -> Json:
        """Return what the workflow was answered."""
        found: list[Json] = []

        def has_ended() -> bool:
            task = self.client().task("get", question.task_id).result
            found[:] = [task]
            return task["status"] == "completed"

        until(has_ended)
        return found[0]["result"]["structuredContent"]["answer"]

    def status_of(self, question: Question) -> str:
        """Return the status of the question's task."""
        return self.client().task("get", question.task_id).result["status"]

    def event_of(self, task_id: str, happened: str) -> Json:
        """Wait for an event of a task's question, and return its detail."""
        found: list[Json] = []

        def is_there() -> bool:
            mine = [one for one in self.events() if one["task_id"] == task_id]
            found.extend(one for one in mine if one.get("happened") == happened)
            ended = [one for one in mine if one.get("status") == "completed"]
            assert found or not ended, self.client().task("get", task_id).result
            return bool(found)

        until(is_there)
        return found[0]

    def events(self) -> Iterator[Json]:
        """Yield the details of the events since the last call."""
        self.stack.drain()
        sqs = self.stack.client("sqs")
        while messages := sqs.receive_message(QueueUrl=self.queue, MaxNumberOfMessages=10).get("Messages"):
            for message in messages:
                sqs.delete_message(QueueUrl=self.queue, ReceiptHandle=message["ReceiptHandle"])
                yield json.loads(message["Body"])["detail"]

    def secret(self) -> bytes:
        """Return the secret with which the stack seals."""
        secrets = self.stack.client("secretsmanager")
        return secrets.get_secret_value(SecretId=self.stack.physical_ids["RequestStateSecret"])["SecretString"].encode()

    def signed_in(self, question: Question, person: str, browser: Browser | None = None) -> httpx.Response:
        """Sign a person in for a question, and return the page on which they come back."""
        browser = browser or Browser()
        to_issuer = browser.get(f"{question.url}?sign-in")
        return browser.get(self.came_back(to_issuer, person))

    def came_back(self, to_issuer: httpx.Response, person: str) -> str:
        """Return the URL to which the issuer sends a person back."""
        assert to_issuer.status_code == httpx.codes.SEE_OTHER, to_issuer.text
        url = httpx.URL(to_issuer.headers["location"]).copy_merge_params({"login_hint": person})
        return httpx.get(url, timeout=HANG_GUARD, trust_env=False).headers["location"]


@dataclass
class Form:
    """A form of a page."""

    action: str
    values: dict[str, str]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.form = Form("", {})

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        if tag == "form":
            self.form.action = told.get("action") or ""
        is_ticked = told.get("type") != "checkbox" or "checked" in told
        if tag == "input" and is_ticked:
            self.form.values[told["name"] or ""] = told.get("value") or ""


def form_of(page: str) -> Form:
    """Return the form of a page, with the values of its inputs."""
    reader = _Reader()
    reader.feed(page)
    return reader.form


def text_of(page: str) -> str:
    """Return the words of a page, without its markup and style."""
    return " ".join(re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL).split())


def query_of(url: str) -> dict[str, str]:
    """Return the query of a URL."""
    return dict(parse_qsl(urlsplit(url).query))


@contextmanager
def desk_with(mode: str, **parameters: str) -> Generator[Desk]:
    """Serve the endpoint with links of a mode; with sign-in, at a test issuer with people of finance and of sales."""
    port = free_port()
    shape = SHAPES["strict"]
    with LocalIssuer(shape, people=PEOPLE) as issuer:
        is_signed = mode == "sign-in"
        endpoint = f"http://127.0.0.1:{port}/mcp"
        at_issuer = {**shape.parameters(issuer.url, endpoint), **page_signs_in_at(issuer, endpoint)}
        signed = at_issuer if is_signed else {"EndpointUrl": endpoint, "ApprovalLinks": mode}
        given = {
            "EventBus": "default",
            **OFF,
            "WaitSeconds": "0",
            "PollsPerSecond": "0",
        }
        chosen = {**signed, **given, **parameters}
        stack = LocalStack(ROOT / "stack.yaml", others=[TOOLS], port=port, parameters=chosen, events=at_once)
        console = Console(stack)
        stack.watcher, stack.front = Watchers(console), console.in_front_of
        with stack:
            yield Desk(stack, issuer if is_signed else None, _queue(stack))


def _queue(stack: LocalStack) -> str:
    """Return the URL of a queue with all events of the endpoint."""
    events, sqs, name = stack.client("events"), stack.client("sqs"), f"{stack.name}-heard"
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    events.put_rule(Name=name, EventPattern=json.dumps({"source": ["stepwire"]}))
    events.put_targets(Rule=name, Targets=[{"Id": "queue", "Arn": arn}])
    return url
