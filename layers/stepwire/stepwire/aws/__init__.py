"""Adapters to AWS. Each one only translates. Only the functions and the local stack import this room."""
