"""The processes that are measured. Each runs in its own environment, so they import nothing of the project."""
