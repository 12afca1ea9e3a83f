"""The principal of a caller: derived only from what the authorizer verified."""

from typing import Any, Final

import pytest

from stepwire.aws.gateway import Caller, SignIn, caller_with_claims
from stepwire.errors import IncompleteIdentity, InvalidToken, NotSignedIn
from stepwire.json_text import JsonObject
from stepwire.principal import principal_of
from tests.recorded import recorded

SALT = "arn:aws:cloudformation:eu-central-1:123456789012:stack/stepwire/0a1b2c3d"
ISSUER = "https://issuer.example/pool"
SIGN_IN = SignIn(SALT)
WITH_TENANT = SignIn(SALT, claims=("iss", "sub", "org_id"))
WITH_MACHINES = SignIn(SALT, claims=("iss", "sub|client_id"))


def caller(event: dict[str, Any], sign_in: SignIn = SIGN_IN) -> Caller:
    return sign_in.caller_of(event)


def with_token(told: object = None, **claims: object) -> dict[str, Any]:
    """Return an event whose token has exactly these claims; `told` are the scopes that the route requires."""
    event = recorded("http_post_jwt")
    event["requestContext"]["authorizer"]["jwt"] = {"claims": claims, "scopes": told}
    return event


def signed(**identity: object) -> dict[str, Any]:
    """Return an event that was signed with IAM; the recorded one is of the session `alice` of a role."""
    event = recorded("http_post_iam")
    event["requestContext"]["authorizer"]["iam"] |= identity
    return event


class TestATokensOwner:
    def test_is_identified_by_issuer_and_subject(self) -> None:
        """T24, X28."""
        subject = "0b6f1e5c-7d5e-4f0e-9d43-3a4a1a0f5a11"

        assert caller(recorded("http_post_jwt")).principal == principal_of(("jwt", "iss", ISSUER, "sub", subject), SALT)

    def test_of_a_machine_is_identified_by_issuer_and_client_if_configured(self) -> None:
        machine = caller(recorded("http_post_jwt_without_subject"), WITH_MACHINES)

        identity = ("jwt", "iss", ISSUER, "client_id", "3n4b5urk1ft4fl3mg5e62d9ado")
        assert machine.principal == principal_of(identity, SALT)

    def test_is_never_identified_by_the_client_alone_by_default(self) -> None:
        """An issuer may also leave `sub` out of the tokens of people."""
        with pytest.raises(IncompleteIdentity) as refused:
            caller(recorded("http_post_jwt_without_subject"))

        assert refused.value.data == {"missing": ["sub"]}

    def test_with_a_subject_is_the_same_with_or_without_alternatives(self) -> None:
        """No task is lost if an operator admits machines later."""
        person = with_token(iss=ISSUER, sub="alice", client_id="an app")

        assert caller(person) == caller(person, WITH_MACHINES)

    def test_is_refused_without_any_of_the_alternatives(self) -> None:
        with pytest.raises(IncompleteIdentity) as refused:
            caller(with_token(iss=ISSUER, client_id=""), WITH_MACHINES)

        assert refused.value.data == {"missing": ["sub|client_id"]}

    def test_does_not_depend_on_other_claims(self) -> None:
        one = caller(with_token(iss=ISSUER, sub="alice", client_id="a", scope="tools", exp="1785588600"))
        other = caller(with_token(iss=ISSUER, sub="alice", client_id="b", jti="7"))

        assert one.principal == other.principal

    def test_differs_by_issuer_subject_and_kind(self) -> None:
        """T24: nobody becomes another principal by choosing a name."""
        events = [
            with_token(iss=ISSUER, sub="alice"),
            with_token(iss=ISSUER, sub="bob"),
            with_token(iss="https://other.example", sub="alice"),
            with_token(iss=ISSUER, client_id="alice"),
            recorded("http_post_iam"),
            signed(userId="alice"),
        ]

        assert len({caller(event, WITH_MACHINES).principal for event in events}) == len(events)

    def test_differs_by_tenant_if_configured(self) -> None:
        one, other = (with_token(iss=ISSUER, sub="alice", org_id=tenant) for tenant in ("acme", "initech"))

        assert caller(one, WITH_TENANT).principal != caller(other, WITH_TENANT).principal
        assert caller(one).principal == caller(other).principal

    def test_cannot_shift_characters_between_claims(self) -> None:
        one = with_token(iss=ISSUER, sub="alice", org_id="acme")
        other = with_token(iss=ISSUER, sub="aliceacme", org_id="")

        assert caller(one, WITH_TENANT).principal != caller(other).principal

    @pytest.mark.parametrize("tenant", [{}, {"org_id": ""}, {"org_id": None}, {"org_id": "<nil>"}])
    def test_without_a_required_claim_is_refused_with_its_name(self, tenant: dict[str, object]) -> None:
        """There is no weaker principal: it would contain all callers without a tenant."""
        with pytest.raises(IncompleteIdentity) as refused:
            caller(with_token(iss=ISSUER, sub="alice", **tenant), WITH_TENANT)

        assert refused.value.data == {"missing": ["org_id"]}
        assert "alice" not in refused.value.message

    @pytest.mark.parametrize(
        ("claims", "missing"),
        [
            ({"sub": "alice"}, ["iss"]),
            ({"iss": ISSUER}, ["sub"]),
            ({"iss": "", "sub": "alice"}, ["iss"]),
            ({"iss": ISSUER, "sub": "", "client_id": ""}, ["sub"]),
            ({"aud": "stepwire"}, ["iss", "sub"]),
        ],
    )
    def test_with_missing_or_empty_claims_is_refused(self, claims: dict[str, str], missing: list[str]) -> None:
        """M4, T24."""
        with pytest.raises(IncompleteIdentity) as refused:
            caller(with_token(**claims))

        assert refused.value.data == {"missing": missing}

    def test_must_send_the_access_token(self) -> None:
        """F4: API Gateway also accepts the ID tokens of Cognito."""
        with pytest.raises(InvalidToken) as refused:
            caller(with_token(iss=ISSUER, sub="alice", aud="client", token_use="id"))

        assert refused.value.status == 401


ENTRA = "https://login.microsoftonline.com/0b6f1e5c-7d5e-4f0e-9d43-3a4a1a0f5a11/v2.0"


class TestAPerson:
    """Who decides a question of somebody else's task."""

    def test_is_the_same_at_each_client(self) -> None:
        by_client = SignIn(SALT, claims=("iss", "sub", "client_id"))

        one, other = (caller(with_token(iss=ISSUER, sub="ann", client_id=name), by_client) for name in ("an app", "b"))

        assert one.principal != other.principal
        assert one.person == other.person == caller(with_token(iss=ISSUER, sub="ann")).principal

    def test_is_the_principal_by_default(self) -> None:
        assert caller(with_token(iss=ISSUER, sub="ann", client_id="an app")).person == ""

    @pytest.mark.parametrize("issuer", [ENTRA, "https://sts.windows.net/0b6f1e5c-7d5e-4f0e-9d43-3a4a1a0f5a11/"])
    def test_of_microsoft_entra_has_another_subject_at_each_client_and_one_object_id(self, issuer: str) -> None:
        one, other = (caller(with_token(iss=issuer, sub=sub, oid="ann")) for sub in ("1", "2"))

        assert one.principal != other.principal
        assert one.person == other.person != ""

    @pytest.mark.parametrize("issuer", [ISSUER, "https://evil.example/https://login.microsoftonline.com/"])
    def test_of_another_issuer_is_not_named_by_an_object_id(self, issuer: str) -> None:
        one, other = (caller(with_token(iss=issuer, sub=sub, oid="ann")) for sub in ("1", "2"))

        assert (one.person or one.principal) != (other.person or other.principal)

    def test_of_one_tenant_differs_from_another_although_they_share_their_tasks(self) -> None:
        by_tenant = SignIn(SALT, claims=("iss", "org_id"))

        ann, ben = (caller(with_token(iss=ISSUER, sub=sub, org_id="a"), by_tenant) for sub in ("ann", "ben"))

        assert ann.principal == ben.principal
        assert ann.person != ben.person

    def test_without_a_subject_is_the_principal(self) -> None:
        assert caller(recorded("http_post_jwt_without_subject"), WITH_MACHINES).person == ""


SCOPES: Final[list[tuple[JsonObject, set[str]]]] = [
    ({"scope": "tools:call refunds"}, {"tools:call", "refunds"}),
    ({"scp": "tools:call refunds"}, {"tools:call", "refunds"}),
    ({"scp": ["tools:call", "refunds"]}, {"tools:call", "refunds"}),
    ({"scope": ["refunds", "tools:call"]}, {"tools:call", "refunds"}),
    ({"scope": "refunds", "scp": ["tools:call"]}, {"refunds"}),
    ({"scope": None, "scp": "refunds"}, {"refunds"}),
    ({"scope": ["tools:call refunds", 7, None]}, {"tools:call refunds"}),
    ({"scope": ["[refunds]"]}, {"[refunds]"}),
    ({"scope": "[refunds]"}, {"[refunds]"}),
    ({"scope": "[tools:call refunds]"}, {"[tools:call", "refunds]"}),
    ({"scope": "[ refunds ]"}, {"[", "refunds", "]"}),
    ({"scope": "[refunds] "}, {"[refunds]"}),
    ({"scope": "a\u00a0refunds a\trefunds a\nrefunds"}, {"a\u00a0refunds", "a\trefunds", "a\nrefunds"}),
    ({"scope": {"refunds": True}}, {"map[refunds:true]"}),
]
"""Claims of a token, and the scopes that they are."""


class TestScopes:
    @pytest.mark.parametrize(("claims", "scopes"), SCOPES)
    def test_are_the_words_of_a_text_or_the_texts_of_a_list(self, claims: JsonObject, scopes: set[str]) -> None:
        """F6: RFC 6749 has one separator, and knows no brackets."""
        known = caller_with_claims(SIGN_IN, {"iss": ISSUER, "sub": "alice", **claims})

        assert known.scopes == scopes

    @pytest.mark.parametrize("header", ["Bearer redacted", "Bearer a.b.c", "Bearer a.b.c,Bearer d.e.f"])
    def test_of_a_list_that_no_token_shows_are_none(self, header: str) -> None:
        event = with_token(iss=ISSUER, sub="alice", scope="[refunds]")
        event["headers"]["authorization"] = header

        assert caller(event).scopes == frozenset()

    def test_may_come_from_the_route(self) -> None:
        assert caller(with_token(["tools:call"], iss=ISSUER, sub="alice")).scopes == {"tools:call"}

    def test_of_a_token_without_scopes_are_empty(self) -> None:
        assert caller(with_token(iss=ISSUER, sub="alice")).scopes == frozenset()

    def test_are_none_without_a_token(self) -> None:
        assert caller(recorded("http_post_iam")).scopes is None
        assert caller(recorded("http_post_legacy"), SignIn(SALT, is_open=True)).scopes is None


class TestASigner:
    def test_is_identified_by_the_role_without_the_session(self) -> None:
        """The caller chooses the name of a session."""
        sessions = [
            signed(
                userId=f"AROAIOSFODNN7EXAMPLE:{name}", userArn=f"arn:aws:sts::123456789012:assumed-role/Agents/{name}"
            )
            for name in ("alice", "botocore-session-1785585600", "a:b")
        ]

        assert {caller(event).principal for event in sessions} == {principal_of(("iam", "AROAIOSFODNN7EXAMPLE"), SALT)}

    def test_differs_after_a_role_is_recreated_with_the_same_name(self) -> None:
        assert caller(signed(userId="AROAIOSFODNN7EXAMPLE:a")) != caller(signed(userId="AROAI44QH8DHBEXAMPLE:a"))

    def test_of_a_user_is_identified_by_the_users_id(self) -> None:
        user = signed(userId="AIDAIOSFODNN7EXAMPLE", userArn="arn:aws:iam::123456789012:user/Alice")

        assert caller(user).principal == principal_of(("iam", "AIDAIOSFODNN7EXAMPLE"), SALT)

    def test_that_a_broker_has_named_keeps_the_name(self) -> None:
        """The account's id comes first, because the id alone is that of the root user."""
        alice, bob, root = (signed(userId=user) for user in ("123456789012:alice", "123456789012:bob", "123456789012"))

        assert len({caller(event).principal for event in (alice, bob, root)}) == 3

    def test_of_an_identity_pool_differs_from_others_with_the_same_role(self) -> None:
        alice, bob = (
            signed(
                userId="AROAIOSFODNN7EXAMPLE:CognitoIdentityCredentials",
                cognitoIdentity={"identityId": f"eu-central-1:{name}", "identityPoolId": "pool", "amr": []},
            )
            for name in ("alice", "bob")
        )

        assert caller(alice) != caller(bob)

    @pytest.mark.parametrize("user_id", [None, ""])
    def test_without_an_id_is_refused(self, user_id: str | None) -> None:
        with pytest.raises(IncompleteIdentity):
            caller(signed(userId=user_id))


class TestNobody:
    @pytest.mark.parametrize(
        "authorizer",
        [
            None,
            {},
            {"jwt": None},
            {"jwt": {"claims": None, "scopes": None}},
            {"jwt": {"claims": {}}},
            {"iam": None},
            {"iam": {}},
        ],
    )
    def test_is_refused(self, authorizer: object) -> None:
        """M4, T24."""
        event = recorded("http_post_legacy")
        event["requestContext"]["authorizer"] = authorizer

        with pytest.raises(NotSignedIn):
            caller(event)

    def test_cannot_be_identified_by_a_header(self) -> None:
        """M4: only the authorizer's data count."""
        event = recorded("http_post_legacy")
        event["headers"] |= {"authorization": "Bearer forged", "x-amzn-oidc-identity": "alice"}

        with pytest.raises(NotSignedIn):
            caller(event)

    def test_is_the_shared_identity_of_an_open_stack(self) -> None:
        """T25."""
        anybody = caller(recorded("http_post_legacy"), SignIn(SALT, is_open=True))

        assert anybody.principal == principal_of(("anonymous",), SALT)


class TestWhatACallerIsToldOf:
    """The claims, for tools whose workflow is told who calls."""

    def test_is_the_token_s_claims_as_text_without_those_that_are_null(self) -> None:
        token = with_token(iss=ISSUER, sub="alice", groups="[a b]", level=5, nothing=None, go_null="<nil>", empty="")

        assert caller(token).claims == {"iss": ISSUER, "sub": "alice", "groups": "[a b]", "level": "5"}

    def test_is_the_signature_without_its_access_key(self) -> None:
        assert caller(signed()).claims == {
            "accountId": "123456789012",
            "callerId": "AROAIOSFODNN7EXAMPLE:alice",
            "principalOrgId": "o-exampleorgid",
            "userArn": "arn:aws:sts::123456789012:assumed-role/Agents/alice",
            "userId": "AROAIOSFODNN7EXAMPLE:alice",
        }

    def test_is_the_identity_of_an_identity_pool_too(self) -> None:
        pooled = signed(cognitoIdentity={"amr": ["x"], "identityId": "eu:1", "identityPoolId": "eu:2"})

        assert caller(pooled).claims.items() >= {("identityId", "eu:1"), ("identityPoolId", "eu:2")}

    def test_is_nothing_without_sign_in(self) -> None:
        assert caller(recorded("http_post_jwt"), SignIn(SALT, is_open=True)).claims == {}

    def test_is_not_shown_where_a_caller_is_printed(self) -> None:
        assert "alice" not in repr(caller(with_token(iss=ISSUER, sub="alice")))
