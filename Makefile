# Everything runs from a clean clone: Python 3.11 or newer, make and gcc are all that has to be there.
export PYTHON ?= python3
export PYTHONDONTWRITEBYTECODE =
BIN = .venv/bin
PLAIN = NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -p no:xdist

.PHONY: install reproduce serve test quick lint types compiled plain wheel test-litellm test-service falsify kill fuzz fuzz-service \
  golden guarantees docs data contexts router governor shocks budgets bench bench-service clean

# .ci/install makes an environment by uv, or by pip where uv cannot be fetched: for the command line; for the tests; for others.
.venv/installed: pyproject.toml
	.ci/install .venv --editable '.[cli,tables,lab,serve]' && touch $@
.venv/tested: pyproject.toml
	.ci/install .venv --editable '.[cli,tables,lab,serve,test]' && touch .venv/installed $@
build/%/installed:
	.ci/install build/$*

install: .venv/installed
reproduce: install
	$(BIN)/lewa reproduce
serve: install
	$(BIN)/python -m lewa.serve.demo

# What CI runs: two jobs side by side, for two cores. The tests are in two parts, see tests/conftest.py.
test: .venv/tested build/peers/installed
	$(MAKE) --jobs 2 --output-sync=target compiled plain types lint wheel
compiled: .venv/tested
	$(BIN)/python -m pytest -p no:xdist -m "compiled and not plain"
plain: .venv/tested build/peers/installed
	$(PLAIN) -m plain
types: .venv/tested
	$(BIN)/mypy
lint: .venv/tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
wheel: .venv/tested
	.ci/wheel
quick: lint types
	$(PLAIN) -m "plain and not slow"
test-litellm: .venv/tested build/litellm/installed
	NUMBA_DISABLE_JIT=1 PYTHONPATH=src build/litellm/bin/python -m pytest -p no:cacheprovider tests/adapters/test_litellm.py
test-service: .venv/tested
	LEWA_SERVICE=1 $(PLAIN) tests/serve

# A long hunt for a counterexample: HUNT says how many instances each law is tried on. KILLS, CASES and SEED as in CONTRIBUTING.md.
falsify: .venv/tested
	LEWA_HUNT=$${HUNT:-100000} $(BIN)/python -m pytest -n 2 -m falsify
kill: .venv/tested
	LEWA_SERVICE=1 LEWA_KILLS=$${KILLS:-200} $(PLAIN) -s tests/agent/test_journal.py tests/serve/test_kill.py
fuzz: .venv/tested
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m tests.fuzz.run --cases $${CASES:-10000} --seed $${SEED:-0}
fuzz-service: .venv/tested
	LEWA_FUZZ=$${CASES:-10000} $(PLAIN) tests/serve/test_fuzz.py tests/serve/test_model.py

# What is written from the code or from measurements, and is part of the repository: read the diff before you commit it.
golden: .venv/tested
	$(BIN)/python tests/golden/write.py
guarantees: .venv/tested
	$(BIN)/python -m tools.guarantees
docs: .venv/tested
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
data contexts: .venv/tested
	$(BIN)/python -m tools.$@ $${DATA:-../shared/data}
router: .venv/tested build/paretobandit/installed
	$(BIN)/python -m tools.router
governor: .venv/tested
	$(BIN)/python -m tools.governor $${DATA:-../shared/data} $${RUNS:-18000}
shocks: .venv/tested
	$(BIN)/python -m tools.shocks $${RUNS:-4}
budgets: .venv/tested
	$(BIN)/python -m tools.budgets $${RUNS:-2}
bench: build/bench/installed
	build/bench/bin/python -m benchmarks.write
bench-service: .venv/tested build/fastapi/installed build/litellm/installed build/litellm-proxy/installed
	$(BIN)/python -m benchmarks.service

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
