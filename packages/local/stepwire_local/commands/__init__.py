"""The commands of `stepwire-local`, a module each; options.py reads their options."""
