"""Lambda functions in this process: loading, environment variables, invocation, output. No HTTP, no template."""
