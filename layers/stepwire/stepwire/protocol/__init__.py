"""The wire format of both eras: headers and bodies to messages and back. Nothing here knows AWS, storage or tasks."""
