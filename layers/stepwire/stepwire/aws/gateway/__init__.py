"""API Gateway: its events as HTTP requests, and its authorizers' results as principals."""
