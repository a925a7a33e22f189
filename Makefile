# Everything here sets itself up: Python 3.11 or newer and make are all that a machine needs. PYTHON chooses one.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := help

VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
# Of all that PATH offers the first one counts that runs, is new enough and can make an environment: a pyenv shim may
# stand for a version that is not there.
SUITABLE := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))

# The tests start thousands of processes. Where Python may write no compiled files, each process compiles all that it
# imports, so it may write them here, whatever the environment says.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help verify quick test test-slow mutants hostile bench guards pages spec changelog format lock clean

help: ## say what there is to run
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

verify: $(READY) ## check every model against its pinned results, and print the table
	$(PY) -m holdfast verify

# Whole folders, so that a new test needs no mark, but for two files that take half of the time.
QUICK := tests/language tests/lower tests/trace tests/repo tests/docs/test_pages.py tests/docs/test_protocol.py \
    tests/docs/test_architecture.py --ignore=tests/language/test_meaning.py --ignore=tests/lower/test_differential.py

quick: $(READY) ## lint and the fast tests: under a minute
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m pytest --numprocesses=auto --hypothesis-profile=ci -m "not slow and not long" $(QUICK)
	@echo "make quick leaves out: types, steps by two executors, machine code, Z3, Java, Spark, the commands, the models; make test has them"

test: $(READY) ## lint, types and the tests that a change must pass
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -m pytest --numprocesses=auto --hypothesis-profile=ci -m "not slow and not long"

# The tests of machine code run apart: a process keeps what it has compiled, which is gigabytes in the end. All three
# parts share one folder of kernels. A worker that has no more tests takes some of the other's: some take minutes.
SLOW := -m pytest --numprocesses=auto --dist=worksteal
test-slow: $(READY) ## the tests that take long, and those that try many more examples
	passed=true; export HOLDFAST_TEST_KERNELS=$$(mktemp -d); trap 'rm -rf "$$HOLDFAST_TEST_KERNELS"' EXIT; \
	$(PY) $(SLOW) --hypothesis-profile=ci -m "long and not slow" || passed=false; \
	$(PY) $(SLOW) --hypothesis-profile=nightly -m slow tests/kernel || passed=false; \
	$(PY) $(SLOW) --hypothesis-profile=nightly -m slow --ignore=tests/kernel || passed=false; \
	$$passed

# The faults are drawn by SEED.
SEED ?= 1
FAULTS ?= 150
mutants: $(READY) ## plant faults in the engine and say which the tests notice (SEED=1 FAULTS=150; 80 minutes)
	$(PY) -m mutants --seed $(SEED) --faults $(FAULTS)

# The cases are drawn by SEED.
CASES ?= 10000
hostile: $(READY) ## give every verb bad input, and renew docs/hostile.md (SEED=1 CASES=10000; an hour or more)
	$(PY) -m tests.hostile --cases $(CASES) --seed $(SEED) --jobs $$(nproc) --write

bench: $(READY) ## measure the speed, and print each goal (15 minutes; python -m benchmarks --whole has all)
	$(PY) -m benchmarks

guards: $(READY) ## write docs/guards.md and docs/impl-guards.md from what is stored of all rules
	$(PY) -m holdfast mutate --guards docs/guards.md
	$(PY) -m holdfast simulate --guards docs/impl-guards.md

pages: $(READY) ## write the pages of the runs in docs/findings
	$(PY) -m tests.docs.finding_pages

changelog: $(READY) ## show what the notes in changelog.d say of the next release
	@$(PY) -m towncrier build --draft --version next 2>/dev/null

spec: $(READY) ## write the modules of TLA+ in spec/ from the models
	$(PY) -m holdfast tla

format: $(READY) ## put the code in its standard layout
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

lock: $(READY) ## renew requirements.lock from pyproject.toml
	$(PY) -m pip install --quiet uv
	$(PY) -m uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes \
	    --no-emit-index-url --custom-compile-command "make lock" --upgrade --quiet --output-file requirements.lock

clean: ## remove the environment and all caches
	rm -rf $(VENV) build dist .mutants .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): requirements.lock pyproject.toml
	@python=; \
	for python in $$(type -aP $(or $(PYTHON),python3.11 python3.12 python3.13 python3.14 python3 python)); do \
	    if "$$python" -c '$(SUITABLE)' 2>/dev/null; then break; fi; python=; \
	done; \
	if [ -z "$$python" ]; then echo "make: Python 3.11 or newer (with venv) is needed; $(or $(PYTHON),none) $(if $(PYTHON),is none,is on PATH)" >&2; exit 2; fi; \
	echo "make: setting up $(VENV) with $$("$$python" --version)"; \
	"$$python" -m venv --clear $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(PY) -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
	@touch $@
