"""AgentCore Gateway as AWS documents it, in front of a server: what it sends to an MCP server target.

Nothing here ran at AWS. Each fact is from the developer guide (docs.aws.amazon.com/bedrock-agentcore/latest/devguide/),
undated, read on 24 November 2026; what the guide does not say is marked as unverified.

- gateway-mcp-tasks: tasks by polling, on 2026-07-28, for MCP server targets. The client declares the extension in the
  `_meta` of each tools/call, tasks/get, tasks/update and tasks/cancel. No session, no streaming.
- gateway-tool-naming: a client sees `TARGET___TOOL`. Unverified: that only this name is changed on the way, and
  that the ids of tasks are not.
- gateway-target-MCPservers: in the listing mode DEFAULT the Gateway lists the tools itself when a target is made or
  synchronized, and in DYNAMIC for each request of a client. Unverified: what it declares when it lists (here nothing),
  and that it reads every page.
- gateway-using, gateway-mcp-elicitation: questions of 2026-07-28 are an InputRequiredResult, which the client answers
  by repeating its request. The client's capabilities are declared for each request.
- gateway-outbound-auth: whose token reaches the server depends on the grant. Unverified: the claims of the tokens,
  which are the issuer's; here `iss` and `sub` as RFC 8693 and RFC 9068 have them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from msgspec import structs

from stepwire.aws.gateway import SignIn
from stepwire.protocol.http import HttpRequest, HttpResponse
from tests.kits import World
from tests.server.answers import Answer, Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, ModernClient

SEPARATOR: Final = "___"
TARGET: Final = "stepwire"
ISSUER: Final = "https://issuer.example.com"
WITH_TASKS: Final[Json] = {**TASKS_CAPABILITY, **ASKING_CAPABILITY}
_SIGN_IN: Final = SignIn("the stack's id")


class Outbound(StrEnum):
    """How the Gateway signs in to the server."""

    TOKEN_EXCHANGE = "TOKEN_EXCHANGE"
    CLIENT_CREDENTIALS = "CLIENT_CREDENTIALS"
    IAM_ROLE = "GATEWAY_IAM_ROLE"


@dataclass(frozen=True)
class SignedInAs:
    """The server behind API Gateway, which has verified this token or signature."""

    world: World
    authorizer: Mapping[str, Any]

    @property
    def server(self) -> "SignedInAs":
        """The endpoint itself."""
        return self

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request, which may have no session."""
        assert "mcp-session-id" not in request.headers
        caller = _SIGN_IN.caller_of({"requestContext": {"authorizer": self.authorizer}})
        return self.world.server.handle(structs.replace(request, caller=caller))


def token_of(subject: str, **more: str) -> Json:
    """Return what API Gateway's authorizer says of an access token."""
    return {"jwt": {"claims": {"iss": ISSUER, "sub": subject, **more}, "scopes": None}}


def signature(session: str) -> Json:
    """Return what API Gateway's authorizer says of a signature of the Gateway's role."""
    return {
        "iam": {"userId": f"AROAEXAMPLE:{session}", "userArn": f"arn:aws:sts::123456789012:assumed-role/gw/{session}"}
    }


@dataclass
class Gateway:
    """A Gateway with one target."""

    world: World
    outbound: Outbound = Outbound.TOKEN_EXCHANGE
    tools: dict[str, Json] = field(default_factory=dict[str, Json])
    """What it shows in the mode DEFAULT, by the names that its clients see."""
    pages: int = 0

    def synchronize(self) -> None:
        """List all pages of tools with a token of its own, without capabilities."""
        own = ModernClient(SignedInAs(self.world, token_of("the gateway")), capabilities={})
        cursor: Json | None = {}
        assert own.ask("server/discover").result["supportedVersions"] == ["2026-07-28"]
        self.tools, self.pages = {}, 0
        while cursor is not None:
            page = own.ask("tools/list", cursor).result
            self.tools |= {f"{TARGET}{SEPARATOR}{tool['name']}": tool for tool in page["tools"]}
            self.pages += 1
            cursor = {"cursor": page["nextCursor"]} if "nextCursor" in page else None

    def client_of(self, user: str, capabilities: Json = WITH_TASKS, *, scope: str = "call") -> "GatewayClient":
        """Return a user's client; `scope` is what the user's token allows."""
        return GatewayClient(ModernClient(SignedInAs(self.world, self._sent(user, scope)), capabilities=capabilities))

    def _sent(self, user: str, scope: str) -> Json:
        match self.outbound:
            case Outbound.TOKEN_EXCHANGE:
                return token_of(user, client_id="the gateway", scope=scope)
            case Outbound.CLIENT_CREDENTIALS:
                return token_of("the gateway")
            case Outbound.IAM_ROLE:
                return signature(f"session of {user}")


@dataclass(frozen=True)
class GatewayClient:
    """A client of a Gateway: it names tools as the Gateway shows them."""

    behind: ModernClient
    """What the Gateway sends for it."""

    def tools(self) -> list[str]:
        """List the tools in the mode DYNAMIC: with the client's own token and capabilities."""
        answer = self.without_session(self.behind.ask("tools/list"))
        return [f"{TARGET}{SEPARATOR}{tool['name']}" for tool in answer.result["tools"]]

    def call(self, name: str, arguments: Json | None = None, **more: Any) -> Answer:
        """Call a tool; the Gateway takes the target's name away."""
        target, separator, tool = name.partition(SEPARATOR)
        assert (target, separator) == (TARGET, SEPARATOR), f"the Gateway has no target for {name}"
        return self.without_session(self.behind.call(tool, arguments, **more))

    def task(self, method: str, task_id: str, **more: Any) -> Answer:
        """Send tasks/get, tasks/update or tasks/cancel, with the capabilities of the call."""
        return self.without_session(self.behind.task(method, task_id, **more))

    @staticmethod
    def without_session(answer: Answer) -> Answer:
        """Return an answer that opens no session and is no stream."""
        assert "mcp-session-id" not in answer.response.headers
        assert not answer.is_stream
        return answer
