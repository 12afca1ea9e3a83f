"""`stepwire deploy`, `upgrade`, `status` and `destroy`: an endpoint in an AWS account, by CloudFormation alone."""
