# Each target does the set-up it needs by itself; nothing needs root. `make help` lists them.
SHELL := /bin/sh
.SHELLFLAGS := -euc
MAKEFLAGS += --no-builtin-rules --no-print-directory
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.set-up
PYTEST := $(BIN)/python -m pytest -q
SCRATCH := TMPDIR="$$($(BIN)/python tools/scratch.py)"
BESIDE := $(SCRATCH) $(PYTEST) -n 3
SEEDS ?= 1 2 3 4 5 6 7 8 9 10

.PHONY: help setup demo test verify gen lock mutants bench chaos slow seeds chaos-compose up down logs leader kill upgrade replace bases docked clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1\t\2/p' Makefile | expand -t 15

setup: $(STAMP) ## make .venv with all that is needed, an etcd too

$(STAMP): requirements.lock pyproject.toml tools/setup.py
	@command -v $(PYTHON) >/dev/null || { echo "setup: no $(PYTHON) found: install Python 3.11 or newer, or make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) tools/setup.py

demo: $(STAMP) ## show two fenced hand-offs on a real etcd; ARGS=--defaults for 15/10/2 s
	@$(BIN)/chaosctl demo $(ARGS)

test: $(STAMP) ## run the tests: pure ones on all cores, then the others, three at a time as they mostly wait; slow ones: `make slow`
	@$(BIN)/python -m compileall -q component lockd replica chaos tests  # the many processes that tests start are to share it
	$(PYTEST) -n auto -m "not slow" tests/unit tests/simulation
	$(BESIDE) --dist loadfile -m "not slow and not compose" --ignore=tests/unit --ignore=tests/simulation tests

verify: $(STAMP) ## check format, lint, types, imports, dependencies, spelling, generated code, lock file
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/mypy --strict --explicit-package-bases tools tests/mutants
	$(BIN)/lint-imports --no-logo
	$(BIN)/deptry .
	$(BIN)/codespell
	$(BIN)/python tools/gen.py --check
	$(BIN)/python tools/lock.py --check

gen: $(STAMP) ## generate lockd/v1 and replica/v1 from proto/
	$(BIN)/python tools/gen.py

lock: $(STAMP) ## pin what pyproject.toml asks for in requirements.lock
	$(BIN)/python tools/lock.py

mutants: $(STAMP) ## plant one-line bugs, each must turn a test red
	$(SCRATCH) $(BIN)/python -m tests.mutants

bench: $(STAMP) ## measure on clusters of real processes, beside what is possible at most; ARGS="--runs 5"
	@$(BIN)/chaosctl bench --all $(ARGS)
	$(PYTEST) -s -p no:randomly tests/bench

chaos: $(STAMP) ## run all chaos scenarios, planted bugs, and what must be left of no fault; three at a time as they mostly wait
	@$(BIN)/python -m compileall -q component lockd replica chaos tests
	$(BESIDE) -m "slow and not compose" tests/chaos

slow: $(STAMP) ## run the other slow tests: larger searches, many more seeds, trials, long waits
	@$(BIN)/python -m compileall -q component lockd replica chaos tests
	$(BESIDE) -m "slow and not compose" --ignore=tests/bench --ignore=tests/chaos tests

seeds: $(STAMP) ## run the scenario everything-at-once with ten seeds, one after the other; SEEDS="11 12"
	@failed=; for seed in $(SEEDS); do \
		$(BIN)/chaosctl run everything-at-once --trials=1 --seed="$$seed" $(ARGS) || failed="$$failed $$seed"; \
	done; \
	[ -z "$$failed" ] || { echo "seeds: these failed:$$failed; run one again by chaosctl run everything-at-once --trials=1 --seed=N" >&2; exit 4; }

up: ## bring up the cluster in Docker: three etcd members, three replicas, lockd; ARGS=--tls, COMPOSE_PROFILES=demo
	@$(PYTHON) -m tools.compose up $(ARGS)

down: ## end that cluster and remove it, its data too; ARGS=--keep keeps them
	@$(PYTHON) -m tools.compose down $(ARGS)

logs: ## follow its logs
	@$(PYTHON) -m tools.compose logs

leader: ## tell who leads in it
	@$(PYTHON) -m tools.compose leader

kill: ## kill -9 its leader, and tell who leads next and how soon
	@$(PYTHON) -m tools.compose kill

upgrade: ## make its replicas anew one after the other, with the image of LOCKD_IMAGE
	@$(PYTHON) -m tools.operations upgrade

replace: ## have a new etcd member take the place of one that lost its data; MEMBER=etcd-2
	@$(PYTHON) -m tools.operations replace $(MEMBER)

bases: ## make its base images from Debian packages, for where no registry can be reached
	@$(PYTHON) -m tools.bases $(ARGS)

chaos-compose: $(STAMP) ## run every scenario in Docker, and a partition, a lost volume, a rolling upgrade, trials; about 20 minutes
	$(PYTEST) -s -p no:randomly -m slow tests/compose

docked: $(STAMP) ## run the tests of the cluster in Docker, but for the slow ones: `make chaos-compose`
	$(PYTEST) -s -p no:randomly -m "not slow" tests/compose

clean: ## remove .venv and what tools left
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
