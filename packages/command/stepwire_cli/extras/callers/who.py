"""Who is meant: from a token, a subject, an IAM identity, a task or a hash to the principal that the endpoint knows.

The rule: the endpoint's own code hashes, with the salt and the claims of its stack. No token is checked, kept or shown.
"""

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from stepwire.aws.gateway import ANONYMOUS, ISSUER_AND_SUBJECT, SignIn, caller_with_claims, caller_with_unique_id
from stepwire.aws.settings import read_list
from stepwire.errors import AccessDenied, IncompleteIdentity, NotSignedIn
from stepwire.json_text import JsonObject, is_object
from stepwire.principal import PRINCIPAL_PATTERN, Caller, Principal, principal_of
from stepwire_cli.account.endpoint import Endpoint
from stepwire_cli.account.errors import AccountError
from stepwire_cli.account.tasks import Tasks
from stepwire_cli.exits import CommandError

_PARTS: Final = 3  # of a JWT
_UNIQUE_ID: Final = re.compile(r"A(IDA|ROA)[A-Z0-9]{12,124}")
_ARN: Final = re.compile(r"arn:[a-z-]+:(?:iam|sts)::([0-9]{12}):(user|role|assumed-role)/(.+)")
_ACCOUNT: Final = 4  # part of an ARN
_TOKENS: Final = ("jwt", "cognito")
_FORMS: Final = (
    "Name the caller by one of: 32 hexadecimal digits of the log, the id of a task of theirs, the ARN of an IAM user, "
    "role or session, --sub with --issuer, or --jwt FILE (- for standard input)."
)


@dataclass(frozen=True)
class Who:
    """A caller, as an operator names them."""

    name: str | None = None
    """A hash, a task, or an identity of IAM."""
    token: str | None = None
    subject: str | None = None
    issuer: str | None = None
    claims: Mapping[str, str] = field(default_factory=dict[str, str])
    """Further claims that make a principal."""


@dataclass(frozen=True)
class Named:
    """The caller."""

    principal: Principal
    person: Principal | None = None
    """What stands for them as an approver, if that is something else, and as far as it is known."""
    by: str = ""
    """How the principal was found."""
    warnings: tuple[str, ...] = ()

    @property
    def hashes(self) -> tuple[Principal, ...]:
        """All that stands for them."""
        return (self.principal,) if self.person is None else (self.principal, self.person)


@dataclass(frozen=True)
class Callers:
    """Finds the callers of an endpoint."""

    endpoint: Endpoint

    def named(self, who: Who) -> Named:
        """Return the caller.

        Raises:
            CommandError: they are not named, or in a way that leads to nobody.
            AccountError: AWS cannot be asked.
        """
        given = [one for one in (who.name, who.token, who.subject) if one is not None]
        if len(given) != 1:
            raise CommandError(_FORMS)
        if who.token is not None:
            return self._of_token(claims_in(who.token))
        if who.subject is not None:
            issuer = who.issuer or self._issuer()
            return self._of_claims({"iss": issuer, "sub": who.subject, **who.claims}, f"sub and issuer {issuer}")
        return self._of_name((who.name or "").strip())

    def _of_name(self, name: str) -> Named:
        if PRINCIPAL_PATTERN.fullmatch(name):
            return Named(Principal(name), by="the hash itself")
        if _UNIQUE_ID.fullmatch(name):
            return self._of_iam(name, "the unique id of IAM")
        if (found := _ARN.fullmatch(name)) is not None:
            return self._of_arn(name, *found.groups())
        if name.startswith("arn:") and ":states:" not in name:
            raise CommandError(f"{name[:100]!r} is no user, role or session of IAM: nobody else has a principal.")
        try:
            key = Tasks(self.endpoint.calls, self.endpoint.table()).key_of(name)
        except AccountError:
            raise
        except CommandError:
            raise CommandError(_FORMS) from None
        return Named(key.owner, by=f"the owner of task {key.task_id}")

    def _of_token(self, claims: JsonObject) -> Named:
        named = self._of_claims(claims, "the claims of the token, which was decoded and not verified")
        issuer, expected = str(claims.get("iss", "")), self._issuer()
        if expected and issuer != expected:
            said = f"The token is of the issuer {issuer[:200]!r}, and the endpoint takes those of {expected!r} only."
            return Named(named.principal, named.person, named.by, (said,))
        return named

    def _of_claims(self, claims: JsonObject, by: str) -> Named:
        self._check_sign_in(*_TOKENS)
        caller = self._caller(lambda sign_in: caller_with_claims(sign_in, claims))
        return Named(caller.principal, Principal(caller.person) if caller.person else None, by)

    def _of_iam(self, unique_id: str, by: str) -> Named:
        self._check_sign_in("iam")
        return Named(self._caller(lambda sign_in: caller_with_unique_id(sign_in, unique_id)).principal, by=by)

    def _of_arn(self, arn: str, account: str, kind: str, path: str) -> Named:
        self._check_sign_in("iam")
        own = self.endpoint.calls.call("sts", "GetCallerIdentity")["Arn"].split(":")[_ACCOUNT]
        name = path.partition("/")[0] if kind == "assumed-role" else path.rpartition("/")[2]
        noun = "User" if kind == "user" else "Role"
        if account != own:
            raise CommandError(
                f"{arn} is of account {account}, and these credentials are of {own}. Ask there for its unique id "
                f"(aws iam get-{noun.lower()}), and name the caller by that: A...."
            )
        found = self.endpoint.calls.call("iam", f"Get{noun}", **{f"{noun}Name": name})[noun]
        by = f"the unique id of IAM {noun.lower()} {name}"
        return self._of_iam(found[f"{noun}Id"], by if noun == "User" else f"{by}, which all its sessions share")

    def _caller(self, named_by: Callable[[SignIn], Caller]) -> Caller:
        try:
            return named_by(self._sign_in())
        except (AccessDenied, NotSignedIn) as error:
            hint = " Add it with --claim NAME=VALUE." if isinstance(error, IncompleteIdentity) else ""
            raise CommandError(f"The endpoint would refuse such a caller: {error}{hint}") from None

    def _sign_in(self) -> SignIn:
        claims = read_list({"claims": self.endpoint.parameter("PrincipalClaims")}, "claims")
        return SignIn(self._salt(), claims=claims or ISSUER_AND_SUBJECT)

    def _salt(self) -> str:
        salt = self.endpoint.output("PrincipalSalt")
        if not salt:
            raise CommandError(
                f"The stack {self.endpoint.name} has no output PrincipalSalt: is it the endpoint's? --stack names it."
            )
        return salt

    def _issuer(self) -> str:
        """Return the issuer whose tokens the endpoint takes; nothing if it takes none."""
        if self.endpoint.parameter("Authorizer") == "cognito":
            pool = self.endpoint.output("UserPool")
            return f"https://cognito-idp.{pool.partition('_')[0]}.amazonaws.com/{pool}"
        return self.endpoint.parameter("JwtIssuer")

    def _check_sign_in(self, *expected: str) -> None:
        """Refuse an identity that this endpoint's sign-in does not know."""
        authorizer = self.endpoint.parameter("Authorizer")
        if authorizer == "none":
            anybody = principal_of(ANONYMOUS, self._salt())
            raise CommandError(f"This endpoint has no sign-in: all its callers are one principal, {anybody}.")
        if authorizer not in expected:
            ways = "signatures of IAM" if authorizer == "iam" else "tokens"
            raise CommandError(
                f"This endpoint takes {ways} (Authorizer={authorizer}), so such a caller cannot be one of its."
            )


def claims_in(token: str) -> JsonObject:
    """Return the claims of a JWT, unverified.

    Raises:
        CommandError: it is none.
    """
    parts = token.strip().removeprefix("Bearer ").split(".")
    middle = parts[1] if len(parts) == _PARTS else ""
    try:
        claims: Any = json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))
    except ValueError:
        claims = None
    if not is_object(claims):
        raise CommandError("That is no JWT: three parts with dots, of which the second is a JSON object in base64url.")
    return claims
