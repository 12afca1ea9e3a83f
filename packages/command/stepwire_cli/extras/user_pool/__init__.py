"""What the command knows of the user pool."""
