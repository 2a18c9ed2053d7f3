# `make help` lists what there is. On a fresh machine only Python 3.11 or newer and make are needed: every target makes what it stands on.

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
UV     := $(shell command -v uv 2>/dev/null)
BIN    := .venv/bin
# In variables of their own, because a comma ends an argument of a call.
COMMA  := ,
SELF   := '.[auth,build,serve]'
SDK    := 'a2a-sdk[http-server,signing]'
SDK_DB := 'a2a-sdk[sqlite,postgresql]'
PEERS  := .venv-peers/a2a-sdk-1.3.0/.installed .venv-peers/a2a-sdk-0.3.26/.installed .venv-peers/mcp-mesh-3.8.0/.installed .venv-peers/stranger/.installed
RIVALS := .venv-peers/a2a-sdk-1.3.0/.rival .venv-peers/fasta2a-2.1.1/.installed
# The other interpreters of this machine on which the tests run too, on the path or under pyenv; a shim that does not start is no interpreter.
starts  = $(if $(shell $(1) -c 'print(1)' 2>/dev/null),$(1))
other   = $(firstword $(foreach p,python$(1) $(wildcard $(HOME)/.pyenv/versions/$(1).*/bin/python$(1)),$(call starts,$(p))))
OTHERS := $(foreach v,3.12 3.13,$(if $(call other,$(v)),.venv-$(v)))

# make_venv: folder, interpreter. install: folder, requirements.
ifeq ($(UV),)
make_venv = $(2) -m venv $(1) && $(1)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
install   = $(1)/bin/python -m pip install --quiet $(2)
else
make_venv = $(UV) venv --quiet --allow-existing --python $(2) $(1)
install   = $(UV) pip install --quiet --python $(1)/bin/python $(2)
endif

.DEFAULT_GOAL := help
.PHONY: help test check fmt build demo bench soak clean
.DELETE_ON_ERROR:

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

test: .venv/.installed $(PEERS) $(OTHERS:=/.installed) ## set everything up and run the tests, on every Python from 3.11 that is here
	$(BIN)/python -m pytest --cov --cov-report=term --cov-report=json:.venv/coverage.json
	$(BIN)/python tests/coverage_floor.py .venv/coverage.json
	@for v in $(OTHERS); do echo "--- $$($$v/bin/python --version), the quick tests"; $$v/bin/python -m pytest -q -m 'not slow and not peer' tests/unit tests/contract || exit 1; done

check: .venv/.installed ## lint, types, import directions, and that generated code is up to date
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/mypy tests/typing
	$(BIN)/basedpyright
	@if git rev-parse --quiet --verify origin/main >/dev/null; then set -x; $(BIN)/a2a-gen check --against origin/main; else set -x; $(BIN)/a2a-gen check; fi

fmt: .venv/.installed ## format the code and mend what can be mended
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

build: .venv/.installed ## regenerate generated/ from schema/
	$(BIN)/a2a-gen build

demo: .venv/.installed ## set everything up and run a small agent that keeps its tasks in a file
	@sed -n '/^```sh/,/^```$$/p' examples/hello/README.md | sed '/^```/d'
	cd examples/hello && ../../$(BIN)/a2a-gen serve app:app

bench: .venv/.installed $(RIVALS) ## measure everything, beside others where there are some, and print the tables
	$(BIN)/python bench/run.py

soak: test ## the tests, long: many more generated examples
	HYPOTHESIS_PROFILE=soak $(BIN)/python -m pytest
	@for v in $(OTHERS); do echo "--- $$($$v/bin/python --version), all tests"; $$v/bin/python -m pytest -q -m 'not peer' || exit 1; done

clean: ## remove everything that these targets made
	rm -rf .venv .venv-peers $(OTHERS) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage

.venv/.installed: pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed and was not found; name one: make test PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(call make_venv,.venv,$(PYTHON))
	$(call install,.venv,--editable $(SELF) --group dev)
	@touch $@

.venv-3.%/.installed: pyproject.toml
	$(call make_venv,.venv-3.$*,$(call other,3.$*))
	$(call install,.venv-3.$*,--editable $(SELF) --group test)
	@touch $@

.venv-peers/mcp-mesh-%/.installed:
	$(call make_venv,$(@D),$(PYTHON))
	$(call install,$(@D),'mcp-mesh==$*')
	@touch $@

.venv-peers/a2a-sdk-%/.installed:
	$(call make_venv,$(@D),$(PYTHON))
	$(call install,$(@D),$(SDK)==$* fastapi uvicorn)
	@touch $@

# What our wheel asks for, and the tools of the projects that `a2a-gen init` starts; the wheel itself is not in it: tests build it.
.venv-peers/stranger/.installed: pyproject.toml
	$(call make_venv,$(@D),$(PYTHON))
	$(call install,$(@D),'.[build$(COMMA)serve]' apcore mypy pytest ruff)
	rm -r $(@D)/lib/python3*/site-packages/a2a_* $(@D)/bin/a2a-gen
	@touch $@

# What only `make bench` needs: the SDK with its databases, and servers as fast as ours.
.venv-peers/a2a-sdk-1.3.0/.rival: .venv-peers/a2a-sdk-1.3.0/.installed
	$(call install,$(@D),$(SDK_DB)==1.3.0 'uvicorn[standard]')
	@touch $@

.venv-peers/fasta2a-%/.installed:
	$(call make_venv,$(@D),$(PYTHON))
	$(call install,$(@D),'fasta2a==$*' 'uvicorn[standard]')
	@touch $@
