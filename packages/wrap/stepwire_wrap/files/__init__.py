"""State machines in files: definitions, templates and folders of them, read without an account.

The rule: nothing that is read is run, and what a template leaves open stays a text such as `${Ship.Arn}`.
"""
