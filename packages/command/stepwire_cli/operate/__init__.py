"""What an operator does about any caller's task: `stepwire task`, `redrive` and `replay`, at a terminal."""
