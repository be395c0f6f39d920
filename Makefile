.PHONY: test check format benchmarks

test:            ## all tests and doctests
	pytest -n auto

check:           ## what CI checks after the tests
	ruff check .
	ruff format --check .
	mypy

format:          ## what a machine can mend
	ruff check --fix .
	ruff format .

benchmarks:      ## ratios against straightforward loops, measured here and now
	for script in benchmarks/bench_*.py; do python $$script; done
