"""A second door: a REST API, public or private, in front of the functions that the HTTP API leads to.

With FrontDoor=http nothing of it is loaded. Behind a REST API, Lambda takes the handler of `app` in place of the
function's own, and function authorizer verifies tokens, which no REST API does for issuers in general.
"""

from stepwire.hooks import Extra

EXTRA = Extra(name="door")
