"""What the command knows of the front door."""
