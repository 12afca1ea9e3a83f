"""The wire: bytes and headers to messages and back, for both eras; no AWS, no storage, no tasks."""
