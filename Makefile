PYTHON ?= python3
BIN := .venv/bin
# without starting other processes, browsers or engines, and without drawing thousands of samples
QUICK := tests/unit tests/property tests/golden tests/smoke src/shoal -m "not slow"

# compiled modules are kept: the processes that tests start would compile everything again
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test tests check bench figures lint types native system explore large long fuzz stops faults deep wheel sbom audit constraints stacks lowest docs clean

help: ## show what each target does
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 13

.venv/installed: pyproject.toml $(wildcard src/shoal/kernels/native/*)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable .
	touch $@

# what lint, types and the quick tests need: no Spark, no browser
.venv/checked: pyproject.toml $(wildcard src/shoal/kernels/native/*)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable '.[check]'
	touch .venv/installed $@

# with all that it needs at once: every call compiles the kernels
.venv/tested: pyproject.toml $(wildcard src/shoal/kernels/native/*)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable '.[docs,test]'
	touch .venv/installed .venv/checked $@

# what builds the page of the second verifier again and runs its tests, where npm is there
verifier/node_modules/.package-lock.json: verifier/package-lock.json
	@if command -v npm >/dev/null; then cd verifier && npm ci --silent --ignore-scripts --no-audit --no-fund || \
		echo "npm ci failed: the tests of the second verifier's sources will skip and say so" >&2; fi

demo: .venv/installed ## draft, anonymise and verify the bundled hospital table
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/hospital/demo.sh

test: .venv/tested system lint ## system packages, lint, types, the documentation, all tests but the deep ones
	$(MAKE) --jobs=3 types docs tests

# more workers than the two cores of a small machine: many tests wait for a browser, a server or another process
tests: .venv/tested verifier/node_modules/.package-lock.json ## all tests and nothing else
	$(BIN)/python -m pytest -n 3

check: .venv/checked lint types ## the developer loop: lint, types and the quick tests, one release of each method among them
	$(BIN)/python -m pytest -q -n 2 --hypothesis-profile=quick $(QUICK)

bench: .venv/tested ## print the main figures and goals; AGAINST=OTHER/src adds ratios to another version, names what is 20 % slower
	@$(BIN)/python benchmarks/overview.py $(if $(AGAINST),--against $(AGAINST)); first=$$?; \
	$(BIN)/python benchmarks/goals.py $(if $(AGAINST),--against $(AGAINST)) $(if $(ROWS),--rows $(ROWS)) && exit $$first

figures: .venv/tested ## print the figures of every benchmark, which takes an hour
	@for script in benchmarks/[!_]*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

lint: .venv/checked ## ruff: lint and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/checked ## mypy --strict
	$(BIN)/mypy

explore: .venv/tested ## the property tests with examples that no run has tried before
	$(BIN)/python -m pytest -q -n 2 --hypothesis-profile=explore tests/unit tests/property

large: .venv/tested ## a million records in a real browser, with the time of each step
	SHOAL_DEEP=1 SHOAL_LARGE=1 $(BIN)/python -m pytest -q -s tests/e2e/test_tables.py

long: .venv/tested ## thousands of neighbouring tables through every private method, which takes an hour
	SHOAL_DEEP=1 SHOAL_NEIGHBOURS=$${SHOAL_NEIGHBOURS:-5000} $(BIN)/python -m pytest -q -n 2 -m deep tests/property/test_totality.py

fuzz: .venv/tested ## hostile inputs for minutes: SHOAL_FUZZ_SECONDS and SHOAL_FUZZ_SEED choose how long and which
	SHOAL_DEEP=1 SHOAL_FUZZ_SECONDS=$${SHOAL_FUZZ_SECONDS:-300} $(BIN)/python -m pytest -q -s tests/fuzz tests/web/test_fuzz.py tests/unit/queries/test_server_fuzz.py

stops: .venv/tested ## signals at random moments of every command, 100 rounds each; 200 kills of what spends
	SHOAL_DEEP=1 SHOAL_STOPS=$${SHOAL_STOPS:-100} SHOAL_KILLS=$${SHOAL_KILLS:-200} $(BIN)/python -m pytest -q -s tests/reliability/test_stop.py tests/reliability/test_account.py tests/reliability/test_kill.py

faults: .venv/tested ## every system call of a release and a spending fails once; the power fails between any two
	SHOAL_DEEP=1 SHOAL_FAULTS_STRIDE=1 $(BIN)/python -m pytest -q -s tests/reliability/test_faults.py

deep: .venv/tested verifier/node_modules/.package-lock.json ## what `make test` leaves out: a Spark cluster that loses executors, long audits and browser journeys
	SHOAL_DEEP=1 $(BIN)/python -m pytest -q -n 2 -m deep

wheel: .venv/installed ## build the wheel of this platform and check that it is complete
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .
	$(BIN)/python tools/check_wheel.py dist

sbom: wheel ## list what the wheel and its dependencies are, with licences, as CycloneDX
	sh tools/sbom dist

audit: ## look for known vulnerabilities of the pinned packages, where the network allows it
	@sh tools/audit

constraints: test ## write down the versions with which all tests have passed, with hashes for the container
	$(BIN)/python tools/constraints.py > constraints.txt
	$(BIN)/python tools/hashes.py build > tools/hashed-build.txt
	$(BIN)/python tools/hashes.py container > tools/hashed-container.txt
	$(BIN)/python tools/licences.py > docs/reference/dependencies.md

stacks: wheel ## install the wheel beside pandas 2, Streamlit, Airflow and others, and run the smoke test in each
	$(BIN)/python tools/stacks.py $$(ls -t dist/shoal-*.whl | head -n 1)

lowest: wheel ## install the wheel with the lowest allowed versions into a clean environment, and run the tests there
	sh tools/lowest-versions

docs: .venv/tested ## build the documentation; a warning or a broken link fails
	$(BIN)/zensical build --strict --clean

native: ## build the C++ kernels again
	$(BIN)/pip install --quiet --editable . --no-deps

system: ## install what the tests need from Debian (a JRE, PostgreSQL, Chromium), where that is allowed
	@sh tools/system-packages

clean: ## remove the environment and everything built
	rm -rf .venv build dist site src/*.egg-info src/shoal/kernels/_native*.so .mypy_cache .ruff_cache .pytest_cache .hypothesis
