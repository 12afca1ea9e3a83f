"""What of the user pool is in use: the people and programs who sign in with it."""

from typing import Final

from stepwire_cli.deployment.in_use import Contents, Use


def _sign_in(contents: Contents) -> str:
    return "Authorizer=cognito" if contents.parameter("Authorizer") == "cognito" else ""


USES: Final = (
    Use(
        "the users who sign in",
        "they sign in elsewhere, and then have other tasks than today. The pool stays in the account and is never of "
        "the stack again: the extra, when it is back, makes another pool, with other users.",
        "To keep users and tasks, deploy with Authorizer=jwt, and with the pool's issuer and clients as JwtIssuer and "
        "JwtAudience.",
        _sign_in,
    ),
)
