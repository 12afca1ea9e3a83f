"""API Gateway's HTTP API on 127.0.0.1: routes, CORS, JWT authorizers, and the server in front of them."""
