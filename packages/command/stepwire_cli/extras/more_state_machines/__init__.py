"""What the command knows of state machines without the tag."""
