# `make help` lists what there is. On a fresh machine only Python 3.11 or newer and make are needed: every target makes what it stands on.

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
UV     := $(shell command -v uv 2>/dev/null)
BIN    := .venv/bin
# In a variable of its own, because a comma ends an argument of a call.
SELF   := '.[all]'
# Installed once on a machine, for all checkouts: see tests/peers/environments.py.
PEERS  := a2a-sdk-1.3.0 a2a-sdk-0.3.26 apcore-0.6.0 mcp-mesh-3.8.0 wheel-dependencies wheel-extras deployment-tools docs-site json-schema-suite real-schemas npm-schemas ajv-8.20.0 a2a-js-1.3.0 a2a-js-0.3.14 mesh-registry-3.7.1 a2akit-0.0.32 browser-153.0.0 mcp-everything-2026.8.31
SOAKED := document-agents google-adk-2.13.0 agent-framework-1.0.0b261022 strands-1.62.0 fasta2a-2.1.1
RIVALS := rival-a2a-sdk-1.3.0 rival-fasta2a-2.1.1
# The tests of one file stay in one worker, in the order of the folders: files share fixtures, and the many small ones at the end fill both cores.
JOBS   ?= auto
PYTEST  = -m pytest --numprocesses=$(JOBS) --dist=loadfile --no-loadscope-reorder
# run_tests: interpreter, arguments, arguments of the second run. Where others use the machine too, a process can start later than its test waits.
# What failed beside other tests is therefore run once more, alone: what is broken fails again, and what is not stands in the first summary.
run_tests = $(1) $(PYTEST) $(2) || { test $$? -eq 1 && echo "--- what failed beside other tests, once more and alone" && $(1) -m pytest --last-failed --last-failed-no-failures=none --maxfail=1 $(2) $(3); }
# The other interpreters of this machine on which the tests run too, on the path or under pyenv; a shim that does not start is no interpreter.
starts  = $(if $(shell $(1) -c 'print(1)' 2>/dev/null),$(1))
other   = $(firstword $(foreach p,python$(1) $(wildcard $(HOME)/.pyenv/versions/$(1).*/bin/python$(1)),$(call starts,$(p))))
OTHERS := $(foreach v,3.12 3.13,$(if $(call other,$(v)),.venv-$(v)))
# `make soak` takes all of them, every other run the newest.
TAKEN  ?= $(lastword $(OTHERS))

# make_venv: folder, interpreter. install: folder, requirements.
ifeq ($(UV),)
make_venv = $(2) -m venv $(1) && $(1)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
install   = $(1)/bin/python -m pip install --quiet $(2)
else
make_venv = $(UV) venv --quiet --allow-existing --python $(2) $(1)
install   = $(UV) pip install --quiet --python $(1)/bin/python $(2)
endif

# Tests start hundreds of processes; each would compile everything again where the environment says that no bytecode is kept.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help test coverage others peers check docs fmt build demo bench soak clean
.DELETE_ON_ERROR:

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

test: .venv/.installed peers ## set everything up and run the tests, and the unit tests on the newest other Python that is here
	$(call run_tests,$(BIN)/python)
	@$(MAKE) --no-print-directory others

coverage: .venv/.installed peers ## run the tests, and hold the floor of what they cover
	$(call run_tests,$(BIN)/python,--cov --cov-report=,--cov-append)
	$(BIN)/coverage json --quiet -o .venv/coverage.json
	$(BIN)/python tests/coverage_floor.py .venv/coverage.json

others: $(TAKEN:=/.installed) ## run the unit tests on the newest other Python that is here
	@for v in $(TAKEN); do echo "--- $$($$v/bin/python --version), the unit tests"; $(call run_tests,$$v/bin/python,-q -m 'not soak and not slow and not peer' tests/unit) || exit 1; done

peers: .venv/.installed ## install what the tests compare with, once on a machine
	@$(BIN)/python tests/peers/environments.py $(PEERS) >/dev/null

check: .venv/.installed ## lint, types, import directions, lines of code, and that generated code is up to date
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/mypy tests/typing
	$(BIN)/basedpyright
	PYTHONPATH=tests $(BIN)/python tests/style/density.py
	$(BIN)/python tests/conformance/requirements.py --check
	@if git rev-parse --quiet --verify origin/main >/dev/null; then set -x; $(BIN)/a2a-gen check --against origin/main; else set -x; $(BIN)/a2a-gen check; fi
	@if git rev-parse --quiet --verify origin/main >/dev/null; then set -x; for each in project settings; do $(BIN)/a2a-gen diff schema/meta/$$each.schema.json --against origin/main --plain --role read || exit 1; done; fi

docs: .venv/.installed ## build the documentation site, with search and references, in .venv/site/html
	@$(BIN)/python tests/peers/environments.py docs-site >/dev/null
	@$(BIN)/python docs/site/build.py

fmt: .venv/.installed ## format the code and mend what can be mended
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

build: .venv/.installed ## regenerate generated/ from schema/, and the pages and examples that are made from the code
	$(BIN)/a2a-gen build
	PYTHONPATH=tests $(BIN)/python tests/style/settings_table.py
	PYTHONPATH=tests $(BIN)/python tests/style/deployment_example.py
	PYTHONPATH=tests $(BIN)/python tests/style/rooms_drawing.py
	PYTHONPATH=tests $(BIN)/python tests/style/loaded_page.py
	PYTHONPATH=tests $(BIN)/python tests/style/agent_pages.py

demo: .venv/.installed ## set everything up and run a small agent that keeps its tasks in a file
	@sed -n '/^```sh/,/^```$$/p' examples/hello/README.md | sed '/^```/d'
	cd examples/hello && A2A_EXPLORER=on ../../$(BIN)/a2a-gen serve app:app

bench: .venv/.installed ## measure everything, beside others where there are some, and print the tables
	@$(BIN)/python tests/peers/environments.py $(RIVALS) >/dev/null
	$(BIN)/python bench/run.py

soak: .venv/.installed peers ## an hour: each test once, those marked soak too, with many more generated examples; the unit tests on every other Python
	@$(BIN)/python tests/peers/environments.py $(SOAKED) >/dev/null
	HYPOTHESIS_PROFILE=soak $(BIN)/python $(PYTEST) -m ''
	@$(MAKE) --no-print-directory others TAKEN='$(OTHERS)'

clean: ## remove everything that these targets made, except the peers, which other checkouts share
	rm -rf .venv $(OTHERS) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage

.venv/.installed: pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed and was not found; name one: make test PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(call make_venv,.venv,$(PYTHON))
	$(call install,.venv,--editable $(SELF) --group dev)
	@touch $@

.venv-3.%/.installed: pyproject.toml
	$(call make_venv,.venv-3.$*,$(call other,3.$*))
	$(call install,.venv-3.$*,--editable $(SELF) --group test)
	@touch $@
