.PHONY: develop test test-all check format docs coverage benchmarks dist

develop:         ## an environment for development in .venv, in one command
	python3 -m venv .venv
	.venv/bin/pip install -e ".[dev]"
	if git rev-parse --git-dir > /dev/null 2>&1; then .venv/bin/pre-commit install; fi

test:            ## tests and doctests, without those marked slow
	pytest -n auto

test-all:        ## all tests and doctests
	pytest -n auto -m ""

check:           ## what CI checks after the tests
	ruff check .
	ruff format --check .
	mypy
	python scripts/check_docstrings.py

format:          ## what a machine can mend
	ruff check --fix .
	ruff format .

docs:            ## the site, in docs/_build/html; warnings are errors, links are checked
	rm -rf docs/_build
	sphinx-build -W --keep-going -q -b html docs docs/_build/html
	python scripts/check_links.py docs/_build/html

coverage:        ## lines and branches that all tests reach, at least 96 % of them
	pytest -n auto -m "" --cov=wefe --cov-report=term

benchmarks:      ## the whole table of ratios, measured here and now
	python -m benchmarks

dist:            ## wheel and source distribution, in dist/
	rm -rf dist
	python -m build
	twine check --strict dist/*
