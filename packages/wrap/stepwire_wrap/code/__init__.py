"""What the code of a Lambda function reads of its event. The rule: code is parsed, and never imported or run."""
