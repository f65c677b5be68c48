# What can be done with a checkout. `make demo` shows it at work, `make test` checks everything.
# Both install what they need first, and nothing again until what they install from has changed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NODE_TOOLS := tests/e2e/node_modules/.installed

.PHONY: help demo install test lint types generated format constraints clean
.DELETE_ON_ERROR:

help:
	@echo "make demo    install into $(VENV), index a real codebase, ask it three questions"
	@echo "make test    install what the tests need, then lint, types, generated files and every test"
	@echo "make lint    ruff and mypy only"
	@echo "make clean   remove what make has made"

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.made pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group dev
	@touch $@

$(NODE_TOOLS): tests/e2e/package-lock.json
	@scripts/install-test-tools
	cd tests/e2e && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

install: $(VENV)/.installed

demo: $(VENV)/.installed
	@scripts/demo

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

generated: $(VENV)/.installed-dev
	$(BIN)/python -m sidecar.gen --check

test: $(VENV)/.installed-dev $(NODE_TOOLS) lint generated
	@# Many tests wait for real processes: one that fails on a crowded machine gets one more chance, alone, and is named.
	$(BIN)/python -m pytest || { echo "Failed at first, run once more:"; \
		$(BIN)/python -m pytest --last-failed --last-failed-no-failures none -v; }

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

constraints:
	scripts/make-constraints

clean:
	rm -rf $(VENV) .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist tests/e2e/node_modules
