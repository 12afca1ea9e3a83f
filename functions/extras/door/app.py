"""Verify the tokens of requests at a REST API. Nothing is built before the first request."""

from stepwire.extras.door.authorizer import AuthorizerHandler

handler = AuthorizerHandler()
