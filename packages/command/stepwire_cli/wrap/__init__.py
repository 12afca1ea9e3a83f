"""Describe state machines as tools: infer manifests from definitions and runs, register them, find what would go wrong.

Inference is pure: `machines` (what a definition reads of its input), `samples` (what runs were given), `timings`,
`manifests` (the result as text). `account` reads AWS, within its quotas; `register` writes, and nothing else does.
"""
