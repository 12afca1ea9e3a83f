"""A command for operators of a deployed stack. Nothing here is deployed."""
