"""The operations on tasks, independent of a protocol era: create, read, wait, answer, cancel, list.

This room owns every rule about limits, idempotency, repair and races. It reaches storage and Step Functions only
through `ports`, and knows nothing of HTTP, JSON-RPC or the two protocol eras.
"""
