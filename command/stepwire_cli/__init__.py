"""The command `stepwire`."""
