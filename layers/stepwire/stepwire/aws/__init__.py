"""The adapters to AWS: each translates and nothing else. Only the functions and the local stack import them."""
