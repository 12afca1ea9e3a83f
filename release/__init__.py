"""Make what a release consists of: the artifact that is deployed, and the packages of the index."""
