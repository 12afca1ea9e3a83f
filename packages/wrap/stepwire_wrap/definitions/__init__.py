"""Infer a manifest from the definition of a state machine, and from what is known of its runs.

The rule: inference is pure. A definition and what others have read of code and runs go in, a draft comes out.
"""
