NAME = "the worker's own"
