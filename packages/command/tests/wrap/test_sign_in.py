"""`stepwire sign-in set-up STACK`: the policy for metadata documents, made once, against a pool that is a fake.

boto3 does not know the operations yet. The fake's model has them as AWS's documents name them; the members are spelled
in two ways, because no document at hand says which is right.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from botocore import xform_name
from botocore.exceptions import ClientError
from botocore.model import ServiceModel

from packages.command.tests.sites import NOT_FOUND, Web
from stepwire_cli.account.calls import Calls
from stepwire_cli.account.errors import AccountError
from stepwire_cli.account.pacing import Pacer
from stepwire_cli.account.sign_in import Wanted, made_ready
from stepwire_cli.app import run
from stepwire_cli.exits import Exit
from stepwire_cli.screen import Screen
from stepwire_cli.sign_in.documents import KNOWN, checked
from stepwire_cli.sign_in.hosts import HOSTS

OWN = "https://chatgpt.com/oauth/app-1/client.json"
CLAUDE = "https://claude.ai/oauth/mcp-oauth-client-metadata"
CALLBACKS = {"https://vscode.dev/oauth/client-metadata.json": ["http://127.0.0.1/", "https://vscode.dev/redirect"]}
LIMIT = 2  # policies on a page of the fake


def document(url: str, **changes: object) -> dict[str, object]:
    """Return a good document."""
    callbacks = CALLBACKS.get(url, ["http://localhost/callback"])
    return {"client_id": url, "redirect_uris": callbacks, "token_endpoint_auth_method": "none", **changes}


def web(changes: dict[str, object] | None = None) -> Web:
    """Serve all known documents."""
    return Web({**{url: document(url) for url in KNOWN}, **(changes or {})})


def model(patterns: str, *, has_whole_rows: bool) -> ServiceModel:
    """Return a model of the operations, with a spelling of the member for the documents."""
    names = ["UserPoolId", "CIMDPolicyId", "ClientId", "PolicyName", patterns, "MaxResults", "NextToken"]
    shape = {"type": "structure", "members": {name: {"shape": "Text"} for name in names}}
    verbs = ["CreateCIMDPolicy", "UpdateCIMDPolicy", "ListCIMDPolicies"]
    verbs += [] if has_whole_rows else ["DescribeCIMDPolicy"]
    operations = {name: {"name": name, "input": {"shape": "Request"}, "http": {}} for name in verbs}
    return ServiceModel(
        {"metadata": {}, "operations": operations, "shapes": {"Request": shape, "Text": {"type": "string"}}}
    )


@dataclass
class Pool:
    """A user pool, its stack, and what was written."""

    spelled: str = "URLPatterns"
    has_whole_rows: bool = True
    policies: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    parameters: dict[str, str] = field(default_factory=dict[str, str])
    outputs: dict[str, str] = field(default_factory=lambda: {"UserPool": "pool_1", "ClientId": "client1"})
    dcr: dict[str, str] = field(default_factory=dict[str, str])
    writes: list[str] = field(default_factory=list[str])
    service_model: ServiceModel | None = None

    @property
    def calls(self) -> Calls:
        """Return the account with it."""
        return Calls(lambda _service: self, Pacer(lambda: 0.0, lambda _: None))

    @property
    def meta(self) -> "Pool":
        """Stand for the client's description of itself."""
        self.service_model = self.service_model or model(self.spelled, has_whole_rows=self.has_whole_rows)
        return self

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        def call(**given: Any) -> Any:
            return getattr(self, f"_{operation}")(given)

        return call

    def _describe_stacks(self, given: dict[str, Any]) -> Any:
        if given["StackName"] != "live":
            raise ClientError(
                {"Error": {"Code": "ValidationError", "Message": "Stack with id x does not exist"}}, "any"
            )
        outputs = [{"OutputKey": name, "OutputValue": value} for name, value in self.outputs.items()]
        parameters = [{"ParameterKey": name, "ParameterValue": value} for name, value in self.parameters.items()]
        return {"Stacks": [{"Outputs": outputs, "Parameters": parameters}]}

    def _describe_user_pool(self, given: dict[str, Any]) -> Any:
        assert given == {"UserPoolId": "pool_1"}
        return {"UserPool": {"Id": "pool_1", **({"DcrConfiguration": self.dcr} if self.dcr else {})}}

    def _list_cimd_policies(self, given: dict[str, Any]) -> Any:
        first = int(given.get("NextToken", 0))
        rows = self.policies[first : first + LIMIT]
        if not self.has_whole_rows:
            rows = [{name: row[name] for name in ("CIMDPolicyId", "PolicyName")} for row in rows]
        more = {"NextToken": str(first + LIMIT)} if first + LIMIT < len(self.policies) else {}
        return {"CIMDPolicies": rows, **more, "ResponseMetadata": {}}

    def _describe_cimd_policy(self, given: dict[str, Any]) -> Any:
        found = next(one for one in self.policies if one["CIMDPolicyId"] == given["CIMDPolicyId"])
        return {"CIMDPolicy": found, "ResponseMetadata": {}}

    def _create_cimd_policy(self, given: dict[str, Any]) -> Any:
        self.writes.append("create")
        self.policies.append({"CIMDPolicyId": f"p{len(self.policies)}", **given})
        return {}

    def _update_cimd_policy(self, given: dict[str, Any]) -> Any:
        self.writes.append("update")
        next(one for one in self.policies if one["CIMDPolicyId"] == given["CIMDPolicyId"]).update(given)
        return {}


def add(pool: Pool, *patterns: str, name: str = "stepwire", client: str = "client1") -> None:
    """Put a policy into a pool."""
    given = {"UserPoolId": "pool_1", "ClientId": client, "PolicyName": name, pool.spelled: list(patterns)}
    pool.policies.append({"CIMDPolicyId": f"p{len(pool.policies)}", **given})


def ready(pool: Pool, there: Web | None = None, *, as_json: bool = False, **wanted: Any) -> int:
    """Run the command."""
    return made_ready(Wanted("live", **wanted), pool.calls, (there or web()).reader(None), Screen(as_json=as_json))


def ours(pool: Pool) -> set[str]:
    """Return the documents of our policy."""
    (found,) = [one for one in pool.policies if one["PolicyName"] == "stepwire"]
    return set(found[pool.spelled])


@pytest.mark.parametrize("spelled", ["URLPatterns", "UrlPatterns"])
@pytest.mark.parametrize("has_whole_rows", [True, False])
def test_the_policy_is_made_once_whatever_the_members_are_spelled(spelled: str, has_whole_rows: bool) -> None:
    pool = Pool(spelled, has_whole_rows)
    for number in range(3):
        add(pool, f"https://a.example/{number}", name=f"other-{number}", client="client2")

    codes = [ready(pool), ready(pool)]

    assert (codes, pool.writes) == ([Exit.DONE, Exit.DONE], ["create"])
    assert ours(pool) == set(KNOWN)
    assert len(pool.policies) == 4


def test_a_rehearsal_writes_nothing_and_says_what_it_would_do(capsys: pytest.CaptureFixture[str]) -> None:
    pool = Pool()

    code = ready(pool, is_dry=True)

    assert (code, pool.writes) == (Exit.DONE, [])
    assert capsys.readouterr().out.startswith(f"would do: live: creates the policy with {len(KNOWN)} documents\n")


@pytest.mark.parametrize(
    ("there", "wanted", "writes", "documents"),
    [
        (KNOWN, {}, [], KNOWN),
        (KNOWN[1:], {}, ["update"], KNOWN),
        ((*KNOWN, "https://b.example/c.json"), {}, [], (*KNOWN, "https://b.example/c.json")),
        ((*KNOWN, "https://b.example/c.json"), {"is_exact": True}, ["update"], KNOWN),
        (KNOWN, {"documents": [OWN]}, ["update"], (*KNOWN, OWN)),
        ((*KNOWN, OWN), {"documents": [OWN]}, [], (*KNOWN, OWN)),
    ],
)
def test_a_policy_that_is_there_is_changed_only_where_it_differs(
    there: tuple[str, ...], wanted: dict[str, Any], writes: list[str], documents: tuple[str, ...]
) -> None:
    pool = Pool()
    add(pool, *there)

    code = ready(pool, web({OWN: document(OWN)}), **wanted)

    assert (code, pool.writes) == (Exit.DONE, writes)
    assert ours(pool) == set(documents)


def test_a_policy_of_another_client_is_given_ours() -> None:
    pool = Pool()
    add(pool, *KNOWN, client="old")

    ready(pool)

    assert (pool.writes, pool.policies[0]["ClientId"]) == (["update"], "client1")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (NOT_FOUND, "answers 404"),
        (httpx2.Response(200, content=b"<html>"), "is not JSON"),
        (["a list"], "is no JSON object"),
        (httpx2.ConnectError("no route"), "does not answer: no route"),
        (
            document(OWN, client_id="https://chatgpt.com/other"),
            "its client_id is https://chatgpt.com/other, not its URL",
        ),
        (document(OWN, token_endpoint_auth_method="private_key_jwt"), "its token_endpoint_auth_method is not none"),
        (document(OWN, redirect_uris=[]), "it has no redirect_uris"),
        (
            document(OWN, redirect_uris=["https://evil.example/cb"]),
            "callbacks that are not its own: https://evil.example/cb",
        ),
        (
            document(OWN, redirect_uris=["http://chatgpt.com/cb"]),
            "callbacks that are not its own: http://chatgpt.com/cb",
        ),
        (document(OWN, redirect_uris=["myapp://chatgpt.com/cb"]), "not its own: myapp://chatgpt.com/cb"),
        (document(OWN, redirect_uris=["myapp://cb", 17]), "callbacks that are not its own: myapp://cb, 17"),
        (document(OWN, redirect_uris=["https://[broken"]), "callbacks that are not its own: https://[broken"),
        (httpx2.Response(302, headers={"location": "/moved"}), "answers 404"),
    ],
)
def test_a_document_with_a_fault_is_left_out_and_the_others_are_allowed(
    answer: object, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = Pool()

    code = ready(pool, web({OWN: answer}), documents=[OWN])

    assert code == Exit.FAILED
    assert f"{OWN}: left out: " in (said := capsys.readouterr().err)
    assert reason in said
    assert ours(pool) == set(KNOWN)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://chatgpt.com/oauth/*", "it is a pattern"),
        ("http://chatgpt.com/client.json", "a document is at a URL with https and a path"),
        ("https://chatgpt.com", "a document is at a URL with https and a path"),
        ("https://[broken", "it is no URL"),
        ("client.json", "a document is at a URL with https and a path"),
    ],
)
def test_what_is_no_url_of_a_document_is_not_asked(url: str, reason: str) -> None:
    there = web()

    found = checked(url, there.reader(None))

    assert (found.is_allowed, found.why.partition(":")[0]) == (False, reason)
    assert there.asked == []


def test_a_document_that_redirects_is_left_out() -> None:
    moved = "https://chatgpt.com/moved"
    there = web({OWN: httpx2.Response(302, headers={"location": moved}), moved: document(OWN)})

    assert checked(OWN, there.reader(None)).why == "it redirects, which issuers do not follow"


@pytest.mark.parametrize("answer", [httpx2.Response(403, content=b"challenge"), httpx2.ConnectError("no network")])
def test_a_known_document_that_does_not_answer_from_here_is_allowed(answer: object) -> None:
    found = checked(CLAUDE, web({CLAUDE: answer}).reader(None))

    assert found.is_allowed
    assert found.why.startswith("not checked: ")


def test_a_known_document_that_answers_with_a_page_is_left_out() -> None:
    page = httpx2.Response(200, headers={"content-type": "text/html"}, content=b"<html>")

    assert not checked(CLAUDE, web({CLAUDE: page}).reader(None)).is_allowed


def test_a_known_document_that_is_another_one_now_is_removed(capsys: pytest.CaptureFixture[str]) -> None:
    pool = Pool()
    add(pool, *KNOWN)

    code = ready(pool, web({CLAUDE: document(CLAUDE, redirect_uris=["https://evil.example/"])}))

    assert code == Exit.FAILED
    assert ours(pool) == set(KNOWN) - {CLAUDE}


def test_a_document_at_a_private_address_is_not_asked() -> None:
    inside = Web(web().answers, {"chatgpt.com": "10.0.0.1"})

    assert "at a private address, where a public document has no business" in checked(OWN, inside.reader(None)).why
    assert inside.asked == []


def test_the_callbacks_of_each_known_host_are_its_own() -> None:
    for host in HOSTS:
        if host.document in KNOWN:
            callbacks = [one.format(port=1, url_id="x", app="y") for one in host.callbacks]
            answer = document(host.document, redirect_uris=callbacks)
            assert checked(host.document, web({host.document: answer}).reader(None)).why == "", host.key


@pytest.mark.parametrize(
    ("pool", "code", "note"),
    [
        (Pool(parameters={"ClientDocuments": "hide"}), Exit.DONE, "deploy with ClientDocuments=announce"),
        (Pool(parameters={"ClientDocuments": "announce"}), Exit.DONE, None),
        (Pool(dcr={"EnableStatus": "Enabled"}), Exit.FAILED, "pool_1 lets clients register themselves"),
        (Pool(dcr={"EnableStatus": "Disabled"}), Exit.DONE, None),
    ],
)
def test_what_is_left_to_do_is_said(
    pool: Pool, code: Exit, note: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ready(pool) == code
    said = capsys.readouterr().err
    assert (note in said) if note else said == ""


def test_a_pattern_that_is_there_is_pointed_out_and_removed_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    pool = Pool()
    add(pool, *KNOWN, "https://chatgpt.com/oauth/*")

    first, second = ready(pool), ready(pool, is_exact=True)

    assert (first, second) == (Exit.FAILED, Exit.DONE)
    assert "the policy has the pattern https://chatgpt.com/oauth/*" in capsys.readouterr().err
    assert ours(pool) == set(KNOWN)


def test_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    ready(Pool(), as_json=True, is_dry=True)

    found = json.loads(capsys.readouterr().out)
    assert (found["action"], found["isDryRun"], found["patterns"]) == ("creates", True, list(KNOWN))


def test_a_boto3_without_the_operations_is_one_line_with_the_command_to_run_instead() -> None:
    pool = Pool()
    pool.service_model = ServiceModel({"metadata": {}, "operations": {}, "shapes": {}})

    with pytest.raises(AccountError) as caught:
        ready(pool)

    said = str(caught.value)
    assert "does not know how to list the policies" in said
    assert (
        "aws cognito-idp create-cimd-policy --user-pool-id pool_1 --client-id client1 --policy-name stepwire " in said
    )
    assert said.endswith(" ".join(KNOWN))
    assert "\n" not in said


@pytest.mark.parametrize(
    ("stack", "outputs", "reason"),
    [
        ("gone", {}, "there is no stack gone of Stepwire in this account and Region: check the name, "),
        ("live", {}, "live: it has no user pool; set-up is for a stack with Authorizer=cognito"),
    ],
)
def test_a_stack_that_is_not_of_cognito_is_one_line(stack: str, outputs: dict[str, str], reason: str) -> None:
    pool = Pool(outputs=outputs)

    with pytest.raises(AccountError) as caught:
        made_ready(Wanted(stack), pool.calls, web().reader(None), Screen(as_json=False))

    assert str(caught.value).startswith(reason)
    assert caught.value.code == Exit.UNKNOWN


def test_without_a_region_it_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    code = run(["sign-in", "set-up", "live"])

    assert (code, capsys.readouterr().err) == (Exit.USAGE, "error: no Region: add --region, or set AWS_REGION\n")


def test_the_operations_are_named_as_boto3_names_methods() -> None:
    assert [xform_name(name) for name in ("ListCIMDPolicies", "DescribeStateMachine", "GetParametersByPath")] == [
        "list_cimd_policies",
        "describe_state_machine",
        "get_parameters_by_path",
    ]
