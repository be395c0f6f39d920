.PHONY: develop test test-all check format docs check-pages coverage benchmarks dist

develop:         ## create a development environment in .venv
	python3 -m venv .venv
	.venv/bin/pip install -e ".[dev]"
	if git rev-parse --git-dir > /dev/null 2>&1; then .venv/bin/pre-commit install; fi

test:            ## run tests and doctests except those marked slow
	pytest -n auto

test-all:        ## run all tests and doctests
	pytest -n auto -m ""

check:           ## run the other checks of CI
	ruff check .
	ruff format --check .
	mypy
	python scripts/check_docstrings.py

format:          ## fix lint and format automatically
	ruff check --fix .
	ruff format .

docs:            ## build the site in docs/_build/html; warnings and dead links are errors
	rm -rf docs/_build docs/gallery
	sphinx-build -W --keep-going -q -b html docs docs/_build/html
	python scripts/check_links.py docs/_build/html

# One page of each kind, and the example report.
PAGES = index quickstart gallery/index gallery/mitigation howto/choose_embedding guide/measure \
	concepts/metrics replications/weat reference/index \
	reference/generated/wefe.metrics.GeneralizedWEAT reference/commands about/benchmarks search \
	example_report
check-pages:     ## look at pages of the built site in Chromium: sizes, contrast, what is cut off, errors
	wefe explore nurse engineer --model demo --out docs/_build/explore.html
	python scripts/check_pages.py docs/_build/html $(PAGES:=.html) ../explore.html \
		--screenshots docs/_build/screenshots

coverage:        ## run all tests; they must cover 96 % of lines and branches
	pytest -n auto -m "" --cov=wefe --cov-report=term

benchmarks:      ## measure the table of speed ratios
	python -m benchmarks

dist:            ## build wheel and source distribution in dist/
	rm -rf dist
	python -m build
	twine check --strict dist/*
