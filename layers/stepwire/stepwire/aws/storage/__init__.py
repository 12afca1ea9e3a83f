"""The DynamoDB table: its items, the conditions of their writes, and the records of its stream."""
