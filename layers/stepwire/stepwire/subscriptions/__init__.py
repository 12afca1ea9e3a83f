"""What is told of questions to others than the caller, and to whom."""
