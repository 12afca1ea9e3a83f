"""CloudFormation for a SAM template: parameters, intrinsic functions, and the creation of each resource type."""
