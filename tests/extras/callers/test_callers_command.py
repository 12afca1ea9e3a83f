"""`stepwire caller`: by which hash the endpoint knows a caller."""

import base64
import io
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from packages.command.tests.aws import Aws, Refusal
from packages.command.tests.operated import ID, OWNER, Stepwire, account, moment, working
from stepwire.aws.gateway import SignIn
from stepwire_cli.exits import Exit
from stepwire_cli.extras.callers.tasks import MOST_PAUSES, PAUSE

SALT = "arn:aws:cloudformation:eu-central-1:123456789012:stack/live/0"
ISSUER = "https://issuer.example.com/"
CLAIMS = {"iss": ISSUER, "sub": "alice", "client_id": "a"}
ROLE_ID = "AROAABCDEFGHIJKLMNOPQ"
OPAQUE = "3q2+7w5c0ffee/an-opaque-token"
EXPOSED = "A token on the command line can be read by every user of this machine, and is now in the shell's history"


def endpoint(authorizer: str = "jwt", claims: str = "iss,sub", key: str = "", **answers: Any) -> Aws:
    parameters = {"Authorizer": authorizer, "JwtIssuer": ISSUER, "PrincipalClaims": claims, "KmsKeyArn": key}
    stack = {
        "StackName": "live",
        "Parameters": [{"ParameterKey": name, "ParameterValue": value} for name, value in parameters.items()],
        "Outputs": [{"OutputKey": "PrincipalSalt", "OutputValue": SALT},
                    {"OutputKey": "UserPool", "OutputValue": "eu-central-1_abc"}],
    }  # fmt: skip
    caller = {"Arn": "arn:aws:sts::123456789012:assumed-role/operators/olga", "UserId": "A", "Account": "123456789012"}
    return account(working(moment()), DescribeStacks={"Stacks": [stack]}, GetCallerIdentity=caller, **answers)


def jwt(claims: dict[str, Any]) -> str:
    parts = (
        base64.urlsafe_b64encode(json.dumps(one).encode()).decode().rstrip("=") for one in ({"alg": "none"}, claims)
    )
    return ".".join((*parts, "c2ln"))


def served(authorizer: dict[str, Any], *claims: str) -> str:
    """Return the principal by which the server knows whom API Gateway has verified."""
    sign_in = SignIn(SALT, claims=claims or ("iss", "sub"))
    return sign_in.caller_of({"requestContext": {"authorizer": authorizer}, "headers": {}}).principal


def served_token(claims: dict[str, str], *names: str) -> str:
    return served({"jwt": {"claims": claims, "scopes": None}}, *names)


def test_a_token_leads_to_the_hash_that_the_server_computes(in_account: Stepwire, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"Bearer {jwt(CLAIMS)}\n")

    code, out, said = in_account(endpoint(), "caller", "whois", "--jwt", str(file))

    assert (code, out) == (Exit.DONE, f"{served_token(CLAIMS)}\n")
    assert "decoded and not verified" in said


def test_a_token_is_read_from_standard_input_and_is_nowhere_in_what_is_printed(
    in_account: Stepwire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(jwt(CLAIMS)))

    code, out, said = in_account(endpoint(), "caller", "whois", "--jwt", "-")

    assert code == Exit.DONE
    assert not any(part in out + said for part in jwt(CLAIMS).split("."))


@pytest.mark.parametrize(
    ("claims", "names"),
    [
        ({"iss": ISSUER, "sub": "alice", "tenants": ["a b", "c"], "admin": True}, "iss,sub,tenants,admin"),
        ({"iss": ISSUER, "client_id": "m", "level": 3}, "iss,sub|client_id,level"),
    ],
)
def test_claims_that_are_no_texts_are_hashed_as_api_gateway_writes_them(
    in_account: Stepwire, tmp_path: Path, claims: dict[str, Any], names: str
) -> None:
    written = {"tenants": "[a b c]", "admin": "true", "level": "3"}
    (tmp_path / "token").write_text(jwt(claims))

    _, out, _ = in_account(endpoint(claims=names), "caller", "whois", "--jwt", str(tmp_path / "token"))

    assert out.strip() == served_token(
        {**claims, **{k: v for k, v in written.items() if k in claims}}, *names.split(",")
    )


@pytest.mark.parametrize(
    ("words", "claims"),
    [
        (("--sub", "alice"), {"iss": ISSUER, "sub": "alice"}),
        (("--sub", "alice", "--issuer", "https://other"), {"iss": "https://other", "sub": "alice"}),
    ],
)
def test_a_subject_and_its_issuer_lead_to_the_same_hash_as_a_token(
    in_account: Stepwire, words: tuple[str, ...], claims: dict[str, str]
) -> None:
    assert in_account(endpoint(), "caller", "whois", *words)[:2] == (Exit.DONE, f"{served_token(claims)}\n")


def test_with_a_user_pool_the_issuer_is_the_pool(in_account: Stepwire) -> None:
    issuer = "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_abc"

    _, out, _ = in_account(endpoint("cognito"), "caller", "whois", "--sub", "alice")

    assert out.strip() == served_token({"iss": issuer, "sub": "alice"})


def test_a_person_who_is_several_principals_is_named_with_both_hashes(in_account: Stepwire) -> None:
    words = ("--sub", "alice", "--claim", "org_id=acme", "--json")

    _, out, _ = in_account(endpoint(claims="iss,sub,org_id"), "caller", "whois", *words)

    found = json.loads(out)
    claims = {"iss": ISSUER, "sub": "alice", "org_id": "acme"}
    assert found["principal"] == served_token(claims, "iss", "sub", "org_id")
    assert found["person"] == served_token(claims)


@pytest.mark.parametrize(
    ("arn", "operation"),
    [
        ("arn:aws:iam::123456789012:role/teams/billing", "GetRole"),
        ("arn:aws:sts::123456789012:assumed-role/billing/olga", "GetRole"),
        ("arn:aws:iam::123456789012:user/robots/billing", "GetUser"),
        (ROLE_ID, None),
    ],
)
def test_an_iam_identity_leads_to_the_hash_of_its_unique_id(
    in_account: Stepwire, arn: str, operation: str | None
) -> None:
    unique_id = "AIDAABCDEFGHIJKLMNOPQ" if operation == "GetUser" else ROLE_ID
    noun = "User" if operation == "GetUser" else "Role"
    found = {noun: {f"{noun}Id": unique_id, f"{noun}Name": "billing", "Path": "/", "Arn": arn,
                    "CreateDate": "2026-01-01T00:00:00Z"}}  # fmt: skip
    aws = endpoint("iam")
    aws.answers |= {operation: found} if operation else {}

    code, out, _ = in_account(aws, "caller", "whois", arn)

    session = f"{unique_id}:olga" if unique_id == ROLE_ID else unique_id
    assert (code, out) == (Exit.DONE, f"{served({'iam': {'userId': session}})}\n")
    assert [given[f"{noun}Name"] for name, given in aws.calls if name == operation] == ["billing"] * bool(operation)


@pytest.mark.parametrize("name", [OWNER, ID])
def test_a_hash_is_itself_and_a_task_leads_to_its_owner(in_account: Stepwire, name: str) -> None:
    assert in_account(endpoint(), "caller", "whois", name)[:2] == (Exit.DONE, f"{OWNER}\n")


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        ((), Exit.USAGE, "Name the caller by one of: 32 hexadecimal digits"),
        ((OWNER, "--sub", "alice"), Exit.USAGE, "Name the caller by one of"),
        (("nobody",), Exit.USAGE, "Name the caller by one of"),
        ((OWNER.upper(),), Exit.USAGE, "Name the caller by one of"),
        ((jwt(CLAIMS),), Exit.USAGE, EXPOSED),
        ((f"Bearer {jwt(CLAIMS)}",), Exit.USAGE, EXPOSED),
        (("--jwt", jwt(CLAIMS)), Exit.USAGE, EXPOSED),
        ((f"--jwt={jwt({**CLAIMS, 'sub': 'a' * 300})}",), Exit.USAGE, EXPOSED),
        (("--jwt", "Bearer", jwt(CLAIMS)), Exit.USAGE, EXPOSED),
        (("--sub", jwt(CLAIMS)), Exit.USAGE, EXPOSED),
        (("--sub", "alice", "--claim", jwt(CLAIMS)), Exit.USAGE, EXPOSED),
        (("--jwt", OPAQUE), Exit.USAGE, "--jwt takes the name of a file with a token, and what was given is none"),
        (("--jwt", __file__), Exit.USAGE, "That is no JWT"),
        (("--sub", "alice", "--claim", "org"), Exit.USAGE, "A claim is written NAME=VALUE"),
        (("arn:aws:iam::123456789012:root",), Exit.USAGE, "'arn:aws:iam::123456789012:root' is no user, role"),
        ((ROLE_ID,), Exit.USAGE, "This endpoint takes tokens (Authorizer=jwt)"),
        (("arn:aws:iam::210987654321:role/x",), Exit.USAGE, "This endpoint takes tokens (Authorizer=jwt)"),
        ((f"{ID[:-1]}2",), Exit.UNKNOWN, "there is no task"),
        ((OWNER, "--stack", "gone"), Exit.DONE, ""),
        ((ID, "--stack", "gone"), Exit.UNKNOWN, "there is no stack gone of Stepwire"),
    ],
)
def test_who_is_nobody_is_one_line(in_account: Stepwire, words: tuple[str, ...], code: Exit, line: str) -> None:
    ended, _, said = in_account(endpoint(), "caller", "whois", *words)

    assert ended == code
    assert said.startswith(f"error: {line}" if line else "By ")
    assert len(said.splitlines()) == 1
    assert not any(secret in said for secret in (*jwt(CLAIMS).split("."), OPAQUE))


@pytest.mark.parametrize(
    ("claims", "names", "line"),
    [
        ({**CLAIMS, "token_use": "id"}, "iss,sub", "This is an ID token"),
        (CLAIMS, "iss,sub,org_id", "it has no org_id. Add it with --claim NAME=VALUE."),
    ],
)
def test_a_token_that_the_endpoint_would_refuse_is_said_so(
    in_account: Stepwire, tmp_path: Path, claims: dict[str, str], names: str, line: str
) -> None:
    (tmp_path / "token").write_text(jwt(claims))

    code, out, said = in_account(endpoint(claims=names), "caller", "whois", "--jwt", str(tmp_path / "token"))

    assert (code, out) == (Exit.USAGE, "")
    assert line in said


def test_a_token_of_another_issuer_is_a_warning(in_account: Stepwire, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(jwt({**CLAIMS, "iss": "https://issuer.example.com"}))

    code, _, said = in_account(endpoint(), "caller", "whois", "--jwt", str(tmp_path / "token"))

    assert code == Exit.DONE
    assert "the endpoint takes those of 'https://issuer.example.com/' only" in said


def test_without_sign_in_all_callers_are_one(in_account: Stepwire) -> None:
    code, _, said = in_account(endpoint("none"), "caller", "whois", "--sub", "alice")

    assert code == Exit.USAGE
    assert f"all its callers are one principal, {SignIn(SALT, is_open=True).caller_of({}).principal}" in said


def test_an_identity_of_another_account_is_looked_up_there(in_account: Stepwire) -> None:
    code, _, said = in_account(endpoint("iam"), "caller", "whois", "arn:aws:iam::210987654321:role/x")

    assert code == Exit.USAGE
    assert "is of account 210987654321, and these credentials are of 123456789012. Ask there" in said


@pytest.mark.parametrize(
    ("operation", "permission"), [("DescribeStacks", "cloudformation:DescribeStacks"), ("GetRole", "iam:GetRole")]
)
def test_a_missing_permission_is_named(in_account: Stepwire, operation: str, permission: str) -> None:
    aws = endpoint("iam")
    aws.answers[operation] = Refusal("AccessDenied")

    code, out, said = in_account(aws, "caller", "whois", "arn:aws:iam::123456789012:role/x")

    assert (code, out) == (Exit.SIGN_IN, "")
    assert f"these credentials may not {permission}: add the permission" in said


def blocks(answer: Any = NotImplemented, claims: str = "iss,sub") -> Aws:
    def invoked(given: Any) -> Any:
        were = {"were_blocked": given["hashes"]} if given["command"] == "unblock" else {}
        return {"done": {"hashes": given["hashes"], **were, "holds_within_seconds": 30}}

    has_something = held({"pk": {"S": OWNER}, "sk": {"S": "usage"}})
    return endpoint(claims=claims, Invoke=invoked if answer is NotImplemented else answer, Query=has_something)


def held(*items: Any) -> dict[str, Any]:
    """Return what a query finds of a caller."""
    return {"Items": list(items), "ScannedCount": len(items)}


@pytest.mark.parametrize(("action", "words"), [("block", "blocked. Every"), ("unblock", "not blocked any more. Every")])
def test_a_caller_is_blocked_and_unblocked_by_an_alias_of_its_own(
    in_account: Stepwire, action: str, words: str
) -> None:
    aws = blocks()
    own = {"block": ("--reason", " Floods us. ", "--yes")}

    code, out, said = in_account(aws, "caller", action, OWNER, *own.get(action, ()))

    (sent,) = [given for name, given in aws.calls if name == "Invoke"]
    operator = "arn:aws:sts::123456789012:assumed-role/operators/olga"
    assert code == Exit.DONE
    reason = {"reason": "Floods us."} if action == "block" else {}
    assert sent == {"alias": "blocks", "command": action, "hashes": [OWNER], **reason, "operator": operator}
    assert out == f"{OWNER}: {words} function knows it within 30 seconds.\n"
    assert (f"stepwire caller cancel-all {OWNER} --stack live" in said) == (action == "block")


@pytest.mark.parametrize(
    ("found", "is_warned"),
    [
        (held(), True),
        (held({"pk": {"S": OWNER}, "sk": {"S": "usage"}}), False),
        (Refusal("AccessDeniedException"), False),  # whoever may block need not be allowed to read
    ],
)
def test_whoever_blocks_a_caller_of_whom_nothing_is_held_is_warned(
    in_account: Stepwire, found: Any, is_warned: bool
) -> None:
    aws = blocks()
    aws.answers["Query"] = found

    code, out, said = in_account(aws, "caller", "block", "--sub", "alcie", "--yes")

    assert code == Exit.DONE
    assert ": blocked." in out
    assert ("Nothing is held of" in said and "is it the right caller?" in said) is is_warned
    assert [given["Limit"] for name, given in aws.calls if name == "Query"] == [1]


def test_whoever_was_not_blocked_is_said_so(in_account: Stepwire) -> None:
    answer = {"done": {"hashes": [OWNER], "were_blocked": [], "holds_within_seconds": 30}}

    code, out, _ = in_account(blocks(answer), "caller", "unblock", OWNER)

    assert (code, out) == (Exit.DONE, f"{OWNER}: was not blocked.\n")


def test_a_person_is_blocked_by_both_hashes(in_account: Stepwire) -> None:
    aws = blocks(claims="iss,sub,org_id")

    in_account(aws, "caller", "block", "--sub", "alice", "--claim", "org_id=acme", "--yes")

    (sent,) = [given for name, given in aws.calls if name == "Invoke"]
    assert len(set(sent["hashes"])) == 2


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (Refusal("AccessDeniedException"), Exit.SIGN_IN, "these credentials may not lambda:InvokeFunction: add the"),
        ({"refused": "5,000 callers are blocked."}, Exit.FAILED, "error: 5,000 callers are blocked."),
        (None, Exit.FAILED, "deploy the version of the command"),
    ],
)
def test_a_block_that_does_not_hold_is_one_line(in_account: Stepwire, answer: Any, code: Exit, words: str) -> None:
    ended, out, said = in_account(blocks(answer), "caller", "block", OWNER, "--yes")

    assert (ended, out) == (code, "")
    assert words in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        ((), Exit.USAGE, f"error: Nobody agreed, so {OWNER} was not blocked: block them with --yes."),
        (("--yes", "--reason", " "), Exit.USAGE, "error: --reason is a line of 1 to 200 visible characters."),
        (("--yes", "--reason", "x" * 201), Exit.USAGE, "error: --reason is a line of 1 to 200 visible characters."),
    ],
)
def test_nobody_is_blocked_unasked_or_for_a_reason_that_nobody_can_read(
    in_account: Stepwire, given: tuple[str, ...], code: Exit, words: str
) -> None:
    aws = blocks()

    ended, out, said = in_account(aws, "caller", "block", OWNER, *given)

    assert (ended, out, said.splitlines()) == (code, "", [words])
    assert not [name for name, _ in aws.calls if name == "Invoke"]


def test_the_list_of_blocks_says_since_when_by_whom_and_why(in_account: Stepwire) -> None:
    since = {"N": "1795680000000"}
    noted = {"pk": {"S": "blocks"}, "sk": {"S": OWNER}, "since": since, "reason": {"S": "Floods us."},
             "operator": {"S": "olga"}}  # fmt: skip
    other = "0" * 32
    listed = {"pk": {"S": "blocks"}, "sk": {"S": "list"}, "callers": {"SS": [other, OWNER]}}
    aws = endpoint(Query={"Items": [noted, listed]})

    code, out, _ = in_account(aws, "caller", "blocked")

    assert code == Exit.DONE
    assert out == f"{OWNER}\t2026-11-26 08:00:00Z\tFloods us.\tolga\n{other}\t\t\t\n"


def test_nobody_is_blocked(in_account: Stepwire) -> None:
    assert in_account(endpoint(Query={"Items": []}), "caller", "blocked") == (Exit.DONE, "", "Nobody is blocked.\n")


def test_another_word_for_a_command_leads_to_it(in_account: Stepwire) -> None:
    code, _, said = in_account(endpoint(), "caller", "find", OWNER)

    assert code == Exit.USAGE
    assert "No such command 'find'. Did you mean 'whois'?" in said


# --------------------------------------------------------------------------------------------------------- cancel-all


@dataclass
class Runs:
    """A caller's tasks, as the function counts and cancels them: two in each part."""

    running: int = 5
    ended: int = 1
    busy: int = 0
    """How many parts AWS throttles."""
    failed: tuple[dict[str, str], ...] = ()
    commands: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def __call__(self, given: Any) -> Any:
        self.commands.append(given)
        if given["command"] == "count_tasks":
            return {"done": {"running": self.running, "ended": self.ended, "after": None}}
        if self.busy:
            self.busy -= 1
            after = given.get("after")
            return {"done": {"cancelled": 0, "ended": 0, "failed": [], "after": after, "is_busy": True}}
        now = min(2, self.running)
        self.running -= now
        more = {"after": ID} if self.running else {"after": None, "ended": self.ended, "failed": list(self.failed)}
        return {"done": {"cancelled": now, "ended": 0, "failed": [], "is_busy": False, **more}}


def test_all_tasks_of_a_caller_are_cancelled_in_parts(in_account: Stepwire) -> None:
    runs = Runs()

    code, out, said = in_account(endpoint(Invoke=runs), "caller", "cancel-all", OWNER, "--yes")

    assert (code, out) == (Exit.DONE, "5 cancelled, 1 had ended, 0 could not be.\n")
    assert [(one["command"], one.get("after")) for one in runs.commands] == [
        ("count_tasks", None), ("cancel_tasks", None), ("cancel_tasks", ID), ("cancel_tasks", ID)
    ]  # fmt: skip
    assert said.splitlines()[:3] == ["cancelling: 40%: 2 of 5", "cancelling: 80%: 4 of 5", "cancelling: 100%: 5 of 5"]


def test_without_a_yes_nothing_is_cancelled(in_account: Stepwire) -> None:
    runs = Runs()

    code, out, said = in_account(endpoint(Invoke=runs), "caller", "cancel-all", OWNER)

    assert (code, out, said) == (
        Exit.USAGE, "", f"error: 5 tasks of {OWNER} have not ended: cancel them with --yes.\n"
    )  # fmt: skip
    assert [one["command"] for one in runs.commands] == ["count_tasks"]


def test_what_could_not_be_cancelled_is_named(in_account: Stepwire) -> None:
    runs = Runs(failed=({"task_id": ID, "reason": "The task goes on: its role may not stop it."},))

    code, out, _ = in_account(endpoint(Invoke=runs), "caller", "cancel-all", OWNER, "--yes")

    assert code == Exit.FAILED
    assert out.splitlines()[1:] == [f"{ID}  The task goes on: its role may not stop it."]


def test_throttling_is_waited_out_and_the_same_command_goes_on_later(
    in_account: Stepwire, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept = list[float]()

    def sleep(span: float) -> None:
        if span == PAUSE:  # and not that of the pacing
            slept.append(span)

    monkeypatch.setattr(time, "sleep", sleep)
    runs = Runs(busy=3)

    code, out, _ = in_account(endpoint(Invoke=runs), "caller", "cancel-all", OWNER, "--yes", "--json")
    runs = Runs(busy=1_000)
    given_up, _, said = in_account(endpoint(Invoke=runs), "caller", "cancel-all", OWNER, "--yes", "--json")

    assert (code, json.loads(out)["cancelled"], slept[:3]) == (Exit.DONE, 5, [PAUSE] * 3)
    assert (given_up, len(slept)) == (Exit.FAILED, 3 + MOST_PAUSES - 1)
    assert "0 tasks were cancelled; repeat the command" in said
