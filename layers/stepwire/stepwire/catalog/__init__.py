"""The tools that clients may call, in their compiled form, and which scopes a tool needs.

May use the vocabulary of `tasks` and `protocol`; may not store, start or answer anything.
"""
