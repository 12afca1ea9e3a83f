"""DynamoDB streams: event source mappings, their records, and removal by TTL."""
