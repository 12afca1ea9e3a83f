"""How good the manifests are that `stepwire wrap` infers."""
