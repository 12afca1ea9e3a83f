"""Verify the tokens of requests at a REST API. Nothing is built before the first request."""

from stepwire.aws.authorizer_function import AuthorizerHandler

handler = AuthorizerHandler()
