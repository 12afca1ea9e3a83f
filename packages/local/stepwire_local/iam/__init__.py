"""IAM: the permissions of roles, and the boto3 clients whose calls are checked against them."""
