"""A test issuer on 127.0.0.1, in the shapes of known ones: for tests, and for `make run ISSUER=...`.

It signs everybody in without a password, as whoever they say they are, so it is for this machine only. It imports
nothing of the stack.
"""

from stepwire_local.issuer.grants import Client, Lifetime
from stepwire_local.issuer.serving import LocalIssuer
from stepwire_local.issuer.shapes import SHAPES, Shape

__all__ = ["SHAPES", "Client", "Lifetime", "LocalIssuer", "Shape"]
