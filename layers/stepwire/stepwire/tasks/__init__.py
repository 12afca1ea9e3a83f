"""The task: its state, its lifecycle and its input requests. Pure: no I/O, no AWS, no wire format."""
