"""`python -m benchmarks` prints the whole table; each `bench_*.py` runs alone as well."""
