# The developer's commands, one word each. `make` alone lists them.
#   PYTHON=python3.12   the interpreter to make .venv with
#   ONCE=1              with `demo`: end after the conversations
#   SHORT=1             with `bench`, `chaos`: take only a few minutes
#   PLACEMENT=dense     with `chaos`: lay the steps on workers this way, instead of `spread`
#   PEERS=1             with `bench`: compare with LangGraph, DBOS and hand-written Celery; .venv-peers gets two of them
#   JOBS=4              with `test`: processes that share the tests
#   ARGS=…              with `test`, `up`, `demo`, `chaos`, `bench`: further arguments

VENV ?= .venv
# What .venv was made with makes it again, for example after a change of the requirements.
PYTHON ?= $(or $(shell p=$$(sed -n 's/^executable = //p' $(VENV)/pyvenv.cfg 2>/dev/null) && test -x "$$p" && echo "$$p"),python3)
JOBS ?= 4
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PEERS_VENV := $(CURDIR)/.venv-peers
PEERS_READY := $(PEERS_VENV)/.ready

# Each command starts many processes. They keep what they compile, even where the environment says that they should not.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup demo up check fix test chaos bench docs page migrate

help: ## list the commands
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 10

setup: $(READY) ## create .venv with every dependency, pinned

demo: $(READY) ## start everything, hold a conversation with each agent, serve until Ctrl-C
	$(BIN)/turnloom demo $(if $(ONCE),--once) $(ARGS)

up: $(READY) ## start everything and serve until Ctrl-C
	$(BIN)/turnloom up $(ARGS)

check: $(READY) ## lint, format, types, imports, spelling, limits, generated documents
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	MYPYPATH=$(VENV)/links $(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell
	$(BIN)/python -m pytest tests/test_limits.py
	$(BIN)/python docs/generate.py --check

fix: $(READY) ## format the code, and fix what the linter can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

test: $(READY) ## run the tests on a Postgres and a Valkey of their own
	$(BIN)/python -m pytest -n $(JOBS) --dist loadscope $(ARGS)

chaos: $(READY) ## break a stack under load, and count what was lost or doubled; SHORT=1 takes a few minutes
	TURNLOOM_DRILL_TURNS=$(if $(SHORT),40,200) TURNLOOM_DRILL_PLACEMENT=$(or $(PLACEMENT),spread) $(BIN)/python -m pytest -m drill -s $(ARGS)

bench: $(READY) $(if $(PEERS),$(PEERS_READY)) ## measure each figure against a baseline taken in the same minute
	$(if $(PEERS),TURNLOOM_BENCH_PEERS=$(PEERS_VENV)/bin/python) $(BIN)/python -m benchmarks $(if $(SHORT),--short) $(ARGS)

docs: $(READY) ## generate docs/reference/ and the picture of a turn
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/picture.py

page: ## make the console's page, web/console/dist, from its sources; needs Node.js
	npm ci --prefix web/console
	npm run build --prefix web/console

migrate: $(READY) ## bring the database of DATABASE_URL up to date
	$(BIN)/turnloom migrate

$(READY): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@.ci/install $(PYTHON) $(VENV)
	@touch $(READY)

# Only the packages of the extra, without our pins: a peer is measured as its users install it.
$(PEERS_READY): pyproject.toml $(READY)
	$(PYTHON) -m venv $(PEERS_VENV)
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["peers"], sep="\n")' \
	  > $(PEERS_VENV)/requirements.txt
	$(PEERS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r $(PEERS_VENV)/requirements.txt
	@touch $(PEERS_READY)
