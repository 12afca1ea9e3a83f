"""The command `stepwire`. The rule: `stepwire --help` loads Typer alone; everything else is loaded by who needs it."""
