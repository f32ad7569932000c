# Everything runs from a clean clone: Python 3.11 or newer, make and gcc are all that has to be there.
PYTHON ?= python3
VENV = .venv
BIN = $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# Python compiles what is imported, when it is, and keeps it for the many processes of the tests; pip would compile everything.
export PYTHONDONTWRITEBYTECODE =
PIP_INSTALL = -m pip install --quiet --no-compile
# The pip of PYTHON, or one in the environment if PYTHON has none.
PIP = $$($(PYTHON) -m pip --version > /dev/null 2>&1 && echo $(PYTHON) || echo $(BIN)/python) -m pip --python $(BIN)/python install --quiet --no-compile
# `make test` runs seven jobs side by side. The compiled tests, mypy, ruff and the build of the wheel go first. Meanwhile the
# compiled tests write the byte code of the libraries, which the other tests then need not compile themselves. Those that often
# wait come next (NICE), then those of agents, which are the longest of the rest (NICER).
NICE = nice -n 5
NICER = nice -n 15
NICEST = nice -n 19

.PHONY: install reproduce test test-litellm quick quick-outside quick-inside lint types tests compiled plain plain-outside plain-agents plain-inside wheel falsify fuzz kill golden guarantees data contexts router shocks docs bench serve test-service fuzz-service bench-service clean

# uv installs in ten seconds what takes pip a minute. The pip of PYTHON fetches it, if there is one: to put another one into the
# environment takes five seconds. uv does not read pip's settings: where it cannot be fetched or does not find a package, pip
# installs.
define INSTALL
	test -x $(BIN)/python || $(PYTHON) -m venv --without-pip $(VENV)
	$(PYTHON) -m pip --version > /dev/null 2>&1 || $(BIN)/python -m ensurepip > /dev/null
	$(PIP) --retries 1 uv && $(BIN)/uv pip install --quiet --python $(BIN)/python pip --editable '.[$(EXTRAS)]' \
	  || $(PIP) pip --editable '.[$(EXTRAS)]'
endef

# The command line, and nothing that only developers need.
$(VENV)/installed: EXTRAS = cli,tables,lab,serve
$(VENV)/installed: pyproject.toml
	$(INSTALL)
	touch $@

# What the tests need on top.
$(VENV)/tested: EXTRAS = cli,tables,lab,serve,test
$(VENV)/tested: pyproject.toml
	$(INSTALL)
	touch $(VENV)/installed $@

install: $(VENV)/installed

reproduce: install
	$(BIN)/lewa reproduce

# Everything that CI checks, side by side. To write mypy's cache takes a tenth of its time: it is used
# where it is, and `make quick` or `make types` begins it.
test: $(VENV)/tested
	MYPY_CACHE_DIR=$(or $(wildcard .mypy_cache),/dev/null) $(MAKE) --jobs 7 --output-sync=target compiled plain-outside plain-agents plain-inside types lint wheel

tests: $(VENV)/tested
	$(MAKE) --jobs 4 --output-sync=target compiled plain-outside plain-agents plain-inside

lint: $(VENV)/tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/tested
	$(BIN)/python .ci/check_types.py

# What can be checked without compiling: not the tests that start servers and browsers.
quick: lint
	$(MAKE) --jobs 3 --output-sync=target quick-outside quick-inside types

# The two parts of the tests, see tests/conftest.py. The compiled one is a single process: each learner is compiled once.
compiled: $(VENV)/tested
	$(BIN)/python -m pytest -p no:xdist -m compiled

# The plain one is three processes: what begins with files, processes, servers and browsers, which often
# waits; agents and laws, which would end last; and the rest. Each imports its own tests only, and a page or a server that the
# tests of a file share is made once.
OUTSIDE = tests/adapters tests/client tests/data tests/fuzz tests/lab tests/paper tests/report tests/serve \
  src/lewa/adapters tests/cli/test_cli.py tests/cli/test_contract.py tests/docs/test_docs_site.py tests/code/test_docstrings.py \
  tests/frontiers/test_frontier.py tests/frontiers/test_frontier_context.py \
  tests/package/test_named_modules.py tests/package/test_notebook.py tests/package/test_plugins.py tests/learners/test_wrappers.py
AGENTS = tests/agent tests/checks
PLAIN = NUMBA_DISABLE_JIT=1 $(1) $(BIN)/python -m pytest -p no:xdist -m plain
plain: plain-outside plain-agents plain-inside

plain-outside: $(VENV)/tested build/peers/installed
	$(call PLAIN,$(NICE)) $(OUTSIDE)

QUICK = NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -p no:xdist -m "plain and not slow"
quick-outside: $(VENV)/tested build/peers/installed
	$(QUICK) $(OUTSIDE) $(AGENTS)

quick-inside: $(VENV)/tested
	$(QUICK) $(OUTSIDE:%=--ignore=%) $(AGENTS:%=--ignore=%)

plain-agents: $(VENV)/tested
	$(call PLAIN,$(NICER)) $(AGENTS)

plain-inside: $(VENV)/tested
	$(call PLAIN,$(NICEST)) $(OUTSIDE:%=--ignore=%) $(AGENTS:%=--ignore=%)

# Libraries that tests/adapters compares with and whose pins fit nowhere here: obp asks for Python < 3.11 and numpy 1.23,
# Safety-Gymnasium for gymnasium 0.28. Their own files are enough. Where they cannot be fetched, their tests are skipped.
build/peers/installed: | $(VENV)/tested
	rm -rf build/peers
	$(BIN)/python $(PIP_INSTALL) --retries 1 --no-deps --ignore-requires-python --target build/peers \
	  obp==0.5.7 safety-gymnasium==1.0.0 && touch $@ || rm -rf build/peers

# LiteLLM, whose pins are many, in an environment of its own that also sees this one: its test is skipped elsewhere.
build/litellm/installed: | $(VENV)/tested
	$(PYTHON) -m venv build/litellm
	build/litellm/bin/python $(PIP_INSTALL) litellm
	ls -d $(CURDIR)/$(VENV)/lib/python3*/site-packages > $$(ls -d build/litellm/lib/python3*/site-packages)/lewa.pth
	touch $@

# Its proxy is for `make bench-service`; where it cannot be installed, its row is missing there.
build/litellm/proxy: build/litellm/installed
	build/litellm/bin/python $(PIP_INSTALL) --retries 1 'litellm[proxy]' || echo "the proxy of LiteLLM is left out"
	touch $@

test-litellm: build/litellm/installed
	NUMBA_DISABLE_JIT=1 PYTHONPATH=$(CURDIR)/src build/litellm/bin/python -m pytest -p no:cacheprovider tests/adapters/test_litellm.py

# The wheel in a clean environment that has its core dependencies only: they are installed already, so they are linked. pip does
# what uv cannot, as above.
wheel: $(VENV)/tested
	rm -rf build/wheel && mkdir -p build/wheel
	$(BIN)/uv build --quiet --wheel --out-dir build/wheel . \
	  || $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir build/wheel .
	$(BIN)/python -m venv --without-pip build/wheel/env
	$(BIN)/uv pip install --quiet --no-deps --python build/wheel/env/bin/python build/wheel/lewa-*.whl \
	  || $(BIN)/python -m pip --python build/wheel/env/bin/python install --quiet --no-compile --no-deps build/wheel/lewa-*.whl
	$(NICEST) $(BIN)/python .ci/link_core.py build/wheel/env/lib/python3*/site-packages
	cd build/wheel && $(NICEST) env/bin/python -I ../../.ci/core_only.py

# A long hunt for a counterexample to the pathwise bounds, compiled; HUNT says how many instances each law is tried on. Besides,
# all of what `make test` says of a few learners, settings, games, or of fewer rounds: HUNTED are the files that ask for LEWA_HUNT.
HUNTED = tests/theorems tests/laws/test_laws.py tests/laws/test_laws_bite.py tests/laws/test_laws_of_wrapped.py \
  tests/advice/test_advise.py tests/engine/test_engine.py tests/frontiers/test_frontier_context.py tests/simulate/test_matrix.py tests/simulate/test_play.py \
  tests/engine/test_without_jit.py tests/agent/test_files.py tests/agent/test_governor.py tests/agent/test_machine.py \
  tests/agent/test_masks.py tests/agent/test_new_actions.py tests/agent/test_telling_more.py tests/agent/test_trials.py \
  tests/agent/test_units_and_tails.py tests/games/test_games.py tests/kernels/test_adahedge.py tests/kernels/test_projection.py \
  tests/measures/test_best_play.py tests/measures/test_verdict.py tests/theory/test_realised.py tests/paper/test_reproduce.py \
  tests/report/test_page_in_browser.py
falsify: $(VENV)/tested
	LEWA_HUNT=$${HUNT:-100000} $(BIN)/python -m pytest -n 2 $(HUNTED)

# Kill a process that writes a journal, KILLS times, and look for a record that it had acknowledged; then the service under
# load, as often on SQLite, and a quarter as often on PostgreSQL.
kill: $(VENV)/tested
	NUMBA_DISABLE_JIT=1 LEWA_SERVICE=1 LEWA_KILLS=$${KILLS:-200} $(BIN)/python -m pytest -q -s tests/agent/test_journal.py tests/serve/test_kill.py

# Hostile command lines, files and calls: CASES says how many, SEED which. Nothing is compiled, so that it takes minutes.
fuzz: $(VENV)/tested
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m tests.fuzz.run --cases $${CASES:-10000} --seed $${SEED:-0}

# Speed beside C and the peers, who get an environment of their own: writes benchmarks/RESULTS.md, the plot, and the tables of
# the pages that quote it. `build/bench/bin/python benchmarks/write.py --quick build/quick` tries whether everything runs.
bench:
	test -x build/bench/bin/python || $(PYTHON) -m venv build/bench
	build/bench/bin/python $(PIP_INSTALL) --editable '.[cli]' river pymab matplotlib mabwiser paretobandit
	build/bench/bin/python benchmarks/write.py
	build/bench/bin/python -m tools.speed_table

# The decision service with an agent, a bounded stream of simulated traffic and a price shock half-way.
serve: install
	$(BIN)/python -m lewa.serve.demo

# The tests of the service that start servers and kill them, on SQLite and on PostgreSQL.
test-service: $(VENV)/tested
	LEWA_SERVICE=1 NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest tests/serve

# Hostile requests to the service, CASES says how many, and its whole surface against a plain model: a fiftieth as many runs.
fuzz-service: $(VENV)/tested
	LEWA_FUZZ=$${CASES:-10000} NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -p no:xdist tests/serve/test_fuzz.py tests/serve/test_model.py

# What a durable call costs, layer by layer, and others beside it: writes benchmarks/SERVICE.md in less than five minutes, once
# the peers are installed. On a machine that does nothing else.
bench-service: $(VENV)/tested build/fastapi/installed build/litellm/proxy
	$(BIN)/python -m benchmarks.service

build/fastapi/installed:
	$(PYTHON) -m venv build/fastapi
	build/fastapi/bin/python $(PIP_INSTALL) fastapi uvicorn httptools uvloop && touch $@

# Write the golden traces anew; read the diff before you commit it.
golden: $(VENV)/tested
	$(BIN)/python tests/golden/write.py

# What is proved, cell by cell, computed from the code: writes docs/guarantees.md.
guarantees: $(VENV)/tested
	$(BIN)/python -m tools.guarantees

# The documentation, into build/site; a warning is an error. `make test` builds it too, in tests/docs/test_docs_site.py.
docs: $(VENV)/tested
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

# Every learner on real data, which is not part of this repository: DATA names the folder. Writes docs/data.md.
data: $(VENV)/tested
	$(BIN)/python -m tools.data $${DATA:-../shared/data}

# Learners of contexts and their rivals on data that is not part of this repository: DATA names the folder. Writes
# docs/contexts.md.
contexts: $(VENV)/tested
	$(BIN)/python -m tools.contexts $${DATA:-../shared/data}

# The default learner of contexts beside a published router, on the prompts that come with it. Writes the table at the end of
# docs/contexts.md.
router: $(VENV)/tested build/paretobandit/installed
	$(BIN)/python -m tools.paretobandit

build/paretobandit/installed:
	$(PYTHON) -m venv build/paretobandit
	build/paretobandit/bin/python $(PIP_INSTALL) paretobandit && touch $@

# Agents in worlds that change: prices, tails, late answers. Writes docs/shocks.md and its figures; RUNS says how many each.
shocks: $(VENV)/tested
	$(BIN)/python -m tools.shocks $${RUNS:-4}

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
