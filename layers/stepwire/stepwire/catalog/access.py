"""What the scopes of a token allow its caller to do.

The rule: a tool that a caller may not call is not listed for it either, and a refusal names all required scopes at once
(F6). Scopes are compared as text: no scope includes another (F7). Where a sign-in knows no scopes, a tool that needs
one is refused.
"""

from msgspec import Struct

from stepwire.catalog.tools import Catalog, Tool
from stepwire.errors import InsufficientScope

Scopes = frozenset[str] | None
"""Those of a caller's token; None where the sign-in knows none."""


class Access(Struct, frozen=True):
    """Who may do what."""

    required: tuple[str, ...] = ()
    """Scopes that every request needs."""
    prefix: str = ""
    """What the issuer puts before the scopes that are named here and in manifests."""
    metadata_url: str = ""
    """Where the Protected Resource Metadata are, for the challenge."""
    knows_callers: bool = True
    """False where nobody signs in: all callers are one, and must not be shown each other's tasks (T21)."""
    takes_programs: bool = False
    """Whether the issuer is known to give tokens to programs without a user."""

    def check(self, held: Scopes, tool: Tool | None = None, catalog: Catalog | None = None) -> None:
        """Raise InsufficientScope where a caller may not call a tool, or, without one, may not call at all."""
        if self.allows(tool, held):
            return
        # What the caller has and needs elsewhere is asked for too: a new token replaces the old one.
        elsewhere = (scope for other in (catalog.in_order if catalog else ()) for scope in other.scopes)
        kept = (scope for scope in (*self.required, *elsewhere) if self.has(held, scope))
        wanted = (*self.required, *(tool.scopes if tool else ()), *kept)
        raise InsufficientScope(tuple(dict.fromkeys(self.prefix + scope for scope in wanted)), self.metadata_url)

    def allows(self, tool: Tool | None, held: Scopes) -> bool:
        """Tell whether a caller may call a tool or, without one, may call at all."""
        return all(self.has(held, scope) for scope in (*self.required, *(tool.scopes if tool else ())))

    def has(self, held: Scopes, scope: str) -> bool:
        """Tell whether a caller has a scope that is named in a manifest."""
        return held is not None and self.prefix + scope in held
