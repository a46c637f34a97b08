PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help demo test check bench lint types native system clean

help: ## show what each target does
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 10

.venv/installed: pyproject.toml $(wildcard src/shoal/kernels/native/*)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable .
	touch $@

.venv/tested: .venv/installed
	$(BIN)/pip install --quiet --editable '.[test]'
	touch $@

demo: .venv/installed ## draft, anonymise and verify the bundled hospital table
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/hospital/demo.sh

test: .venv/tested system lint types ## everything: system packages, lint, types, all tests
	$(BIN)/python -m pytest -n 2 --dist loadgroup

check: .venv/tested lint types ## the developer loop: lint, types and the quick tests
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup --hypothesis-profile=quick -m "not slow and not spark and not postgres"

bench: .venv/tested ## print the benchmark figures
	@for script in benchmarks/[!_]*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

lint: .venv/tested ## ruff: lint and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/tested ## mypy --strict
	$(BIN)/mypy

native: ## build the C++ kernels again
	$(BIN)/pip install --quiet --editable . --no-deps

system: ## install what the tests need from Debian (a JRE, PostgreSQL, Chromium), where that is allowed
	@sh tools/system-packages

clean: ## remove the environment and everything built
	rm -rf .venv build src/*.egg-info src/shoal/kernels/_native*.so .mypy_cache .ruff_cache .pytest_cache .hypothesis
