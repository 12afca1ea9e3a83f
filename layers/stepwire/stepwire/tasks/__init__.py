"""The task and its life: pure, without AWS and without the wire."""
