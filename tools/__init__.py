"""What contributors run by hand: it measures, draws or tries, and `make test` waits for none of it."""
