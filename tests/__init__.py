"""The tests of the endpoint, those of several packages together, and the support that all tests share.

The tests of a package stand beside it, in packages/*/tests, and run alone in its folder. With the support that they
take from here, they import their package and those below it: the kit, then stepwire-wrap, then stepwire-local and
stepwire-client, then stepwire. The tests here may import everything. `test_directions.py` holds this.
"""
