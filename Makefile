# What can be done with a checkout. `make demo` shows it at work, `make test` checks everything.
# Both install what they need first, and nothing again until what they install from has changed.

PYTHON ?= python3
VENV := .venv
# One more than cores, for many tests wait for processes; each may take a gigabyte.
WORKERS = $(shell $(PYTHON) -c 'import os; print(min(4, 1 + (os.cpu_count() or 1)))')
BIN := $(VENV)/bin
NODE_TOOLS := tests/e2e/node_modules/.installed
EXTENSION_TOOLS := extension/node_modules/.installed
EDITOR := extension/test/e2e/node_modules/.installed
EXTENSION := extension/build/sidecar.vsix
# Two halves on one screen cannot be read: what the editor's half says goes here first.
EXTENSION_LOG := extension/build/test.log
# `no` leaves the editor extension, which needs Node, out of what is released.
VSIX ?= yes
# The one place that says where the project is published; the extension's page names it.
REPOSITORY ?= $(filter https://%,$(shell git remote get-url origin 2>/dev/null))
WHEEL := extension/bundled/wheel.json

.PHONY: help demo install check test test-python test-extension test-extension-shown-whole lint lint-python lint-extension lint-forge generated format \
	extension site dist named release-dry-run constraints clean
.DELETE_ON_ERROR:
# Where it is set, each of thousands of processes compiles its modules anew, and pytest every test file.
unexport PYTHONDONTWRITEBYTECODE

help:
	@echo "make demo    install into $(VENV), index a real codebase, ask it three questions"
	@echo "make check   the inner loop, about a minute: ruff, mypy, generated files, every test that starts no process"
	@echo "make test    install what the tests need, then lint, types, generated files and every test"
	@echo "make lint    ruff, mypy, the forge's files and the extension's lint and types only"
	@echo "make extension   build the editor extension, $(EXTENSION)"
	@echo "make site    build the site of docs/ in build/site; a link to nothing ends it"
	@echo "make dist    build what a release consists of: wheel, source archive, .vsix and their checksums, in dist/"
	@echo "make release-dry-run   all of a release but publishing: dist, tried, with SBOM, notes and checksums (VSIX=no: without .vsix)"
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

$(VENV)/.installed-release: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group release
	@touch $@

$(NODE_TOOLS): tests/e2e/package-lock.json
	@scripts/dev/install-test-tools
	cd tests/e2e && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

$(EXTENSION_TOOLS): extension/package-lock.json
	@scripts/dev/install-test-tools npm
	cd extension && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

$(EDITOR): extension/test/e2e/package-lock.json extension/test/e2e/setup
	@scripts/dev/install-test-tools
	extension/test/e2e/setup
	@touch $@

$(WHEEL): $(VENV)/.installed requirements.txt extension/environment.json $(shell find sidecar models -type f -not -path '*/__pycache__/*')
	scripts/dev/build-extension wheel

$(EXTENSION): $(WHEEL) $(EXTENSION_TOOLS) LICENSE CHANGELOG.md \
		$(shell find extension/src extension/media -type f) extension/package.json extension/README.md extension/esbuild.mjs \
		extension/stage.mjs extension/packaging.mjs
	scripts/dev/build-extension vsix

install: $(VENV)/.installed

demo: $(VENV)/.installed
	@scripts/dev/demo

check: lint-python lint-forge generated
	@# A test that starts a process without the mark fails, here and in the whole. Properties get a quarter of their examples.
	$(BIN)/python -m pytest -m "not process" --hypothesis-profile=inner-loop --numprocesses 2 --dist loadfile

lint: lint-python lint-forge lint-extension

lint-python: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

lint-forge: $(VENV)/.installed-dev
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms $(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(BIN)/zizmor --offline --quiet .github/workflows

lint-extension: $(EXTENSION_TOOLS)
	cd extension && npm run --silent lint && npm run --silent types

generated: $(VENV)/.installed-dev
	$(BIN)/python -m sidecar.gen --check

# The editor's half leaves about a core idle. Python's half takes that core, and no more than is left: the editor is watched
# as a person would watch it. Both are run to their end, whichever fails.
test: lint generated $(NODE_TOOLS) $(EXTENSION_TOOLS) $(EDITOR) $(EXTENSION)
	@$(MAKE) --no-print-directory --jobs 2 --keep-going test-extension-shown-whole test-python AFTER_OTHERS="nice -n 10"

test-python: $(VENV)/.installed-dev $(NODE_TOOLS)
	@# A file's tests stay together: they share programs that take seconds to start.
	$(AFTER_OTHERS) $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

test-extension: $(EXTENSION_TOOLS) $(EDITOR) $(EXTENSION)
	cd extension && npm run --silent test
	cd extension && npm run --silent types:e2e && cd test/e2e && npx --no-install playwright test

test-extension-shown-whole:
	@mkdir -p $(dir $(EXTENSION_LOG)); $(MAKE) --no-print-directory test-extension >$(EXTENSION_LOG) 2>&1 & \
		half=$$!; trap "kill $$half" INT TERM; wait $$half; status=$$?; cat $(EXTENSION_LOG); exit $$status

extension: $(EXTENSION)

site: $(VENV)/.installed-dev named
	REPOSITORY="$(REPOSITORY)" $(BIN)/python -m mkdocs build --strict

# The wheels note where the release is, because a model is downloaded from there.
dist release-dry-run: export SIDECAR_REPOSITORY = $(REPOSITORY)
dist: $(VENV)/.installed-dev $(if $(filter no,$(VSIX)),,named $(EXTENSION))
	rm -rf dist
	$(BIN)/python -m build --quiet --outdir dist .
ifneq ($(VSIX),no)
	REPOSITORY="$(REPOSITORY)" scripts/dev/build-extension
	cp $(EXTENSION) dist/
endif
	$(BIN)/python scripts/dev/prepare-release sums dist

named:
	@test -n "$(REPOSITORY)" || { echo "Say where this is published: make $(MAKECMDGOALS) REPOSITORY=https://..." >&2; exit 1; }

# With TAG=v1.2.3 the files must say 1.2.3; without it the changelog may still begin with what is unreleased.
release-dry-run: $(VENV)/.installed-release
	@$(BIN)/python scripts/dev/prepare-release check --tag "$$TAG" --vsix $(VSIX)
	@$(MAKE) --no-print-directory dist
	@$(MAKE) --no-print-directory site
	@REPOSITORY="$(REPOSITORY)" $(BIN)/python scripts/dev/prepare-release finish dist --tag "$$TAG" --vsix $(VSIX)

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

constraints:
	scripts/dev/make-constraints

clean:
	rm -rf $(VENV) .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist tests/e2e/node_modules \
		extension/node_modules extension/build extension/bundled extension/dist extension/test/e2e/node_modules
