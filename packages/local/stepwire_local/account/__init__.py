"""The simulated AWS account: moto, its patches, its events and its HTTP services. It knows nothing of templates."""
