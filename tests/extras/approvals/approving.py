"""A tool whose workflow asks others than its caller, the people who decide, and their clients in both eras."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec.structs import replace

from stepwire.background.input_requests import Question
from stepwire.extras.approvals.rules import Approvers, HasClaim, People
from stepwire.principal import Principal, principal_of
from tests.kits import ALICE, BOB, FORM, OPTIONAL, World, catalog_of, keeping
from tests.server.answers import Answer, Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient, SignedIn
from tests.server.messages import questions

CAROL: Final = principal_of(("jwt", "https://issuer.example", "carol"), "a stack")
FINANCE: Final = People((HasClaim("groups", ("finance",)),), "finance")
POLICY: Final = Approvers(FINANCE, shown_arguments=("text",))
REFUND: Final = keeping(replace(OPTIONAL, name="refund", title="Refund a customer"), approvals=POLICY)
GROUP: Final = "[staff finance]"
"""The claim `groups`, as API Gateway writes it."""


def refunds(policy: Approvers = POLICY, **more: Any) -> World:
    """Return a world with the tool, and with one that asks nobody."""
    return World(catalog=catalog_of(keeping(REFUND, approvals=policy), OPTIONAL), **more)


def signed_in(world: World, name: str, groups: str = "", person: str = "") -> SignedIn:
    return SignedIn(world, claims={"email": f"{name}@example.com", "groups": groups}, person=person)


def started(world: World, count: int | None = None, owner: Principal = ALICE, **asked: Any) -> str:
    """Let Alice call the tool, and its workflow ask; return the id of her task."""
    client = ModernClient(signed_in(world, "alice"), owner, {**TASKS_CAPABILITY, **ASKING_CAPABILITY})
    arguments = {"text": "hello"} if count is None else {"text": "hello", "count": count}
    task_id = client.call("refund", arguments).id_in()
    ask(world, task_id, **asked)
    return task_id


def ask(world: World, task_id: str, key: str = "approval", form: Json = FORM, **more: Any) -> str:
    """Let a workflow ask; return the callback token."""
    token = f"token of {key} of {task_id}"
    world.workflows.waiting.add(token)
    world.requests.record(Question(world.workflows.execution_of(task_id), token, key, form, **more))
    return token


@dataclass(frozen=True)
class Decider:
    """A person with a client of either era that can ask them."""

    client: ModernClient | LegacyClient
    asked: list[Json] = field(default_factory=list[Json])
    """The params of what the person was asked."""

    @classmethod
    def of(
        cls,
        world: World,
        era: str,
        owner: Principal = BOB,
        groups: str = GROUP,
        *,
        person: str = "",
        capabilities: Json = ASKING_CAPABILITY,
    ) -> "Decider":
        """Return a person who is in these groups."""
        endpoint = signed_in(world, "bob", groups, person)
        if era == "modern":
            return cls(ModernClient(endpoint, owner, capabilities))
        return cls(LegacyClient.opened(endpoint, owner=owner, capabilities=capabilities))

    @property
    def modern(self) -> ModernClient:
        """The client, of the modern era."""
        assert isinstance(self.client, ModernClient)
        return self.client

    @property
    def legacy(self) -> LegacyClient:
        """The client, of the legacy era."""
        assert isinstance(self.client, LegacyClient)
        return self.client

    @property
    def tools(self) -> list[str]:
        """The names of the tools that the client is shown."""
        return [one["name"] for one in self.client.ask("tools/list").result["tools"]]

    def listed(self) -> list[Json]:
        """Return the questions that wait for the person."""
        return self.client.call("approvals_list", {}).result["structuredContent"]["approvals"]

    def decide(self, approval_id: str, *answers: Json) -> Json:
        """Call the tool, answer each form with the next of these, and return the tool's result."""
        left = list(answers)
        is_modern = isinstance(self.client, ModernClient)
        return self._in_rounds(approval_id, left) if is_modern else self._on_stream(approval_id, left)

    def _in_rounds(self, approval_id: str, left: list[Json]) -> Json:
        client = self.modern
        result = call(client, approval_id).result
        while result["resultType"] == "input_required":
            ((key, request),) = result["inputRequests"].items()
            self.asked.append(request["params"])
            more = {"inputResponses": {key: left.pop(0)}, "requestState": result["requestState"]}
            result = client.call("approval_answer", {"approval_id": approval_id}, more=more).result
        return result

    def _on_stream(self, approval_id: str, left: list[Json]) -> Json:
        client = self.legacy

        def answer(messages: Sequence[Json]) -> None:
            for one in questions(messages):
                self.asked.append(one["params"])
                assert client.respond(one, result=left.pop(0)).status == 202

        return client.follow(call(client, approval_id), between=answer)[-1]["result"]


def call(client: ModernClient | LegacyClient, approval_id: str) -> Answer:
    return client.call("approval_answer", {"approval_id": approval_id})


def words(result: Json) -> str:
    """Return what the result of a tool says."""
    return result["content"][0]["text"]
