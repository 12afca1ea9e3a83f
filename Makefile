# `make demo` and `make test` set themselves up; the rest is listed by `make help`.
.DEFAULT_GOAL := help
.PHONY: help demo test run check conformance catalog build lock clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 3000
TEMPLATE ?= template.yaml

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/ready  ## run the example workflow as an MCP task on the local stack, and show the result
	$(BIN)/python -m examples.demo

run: $(VENV)/ready  ## serve TEMPLATE (template.yaml) on 127.0.0.1:PORT (3000) until Ctrl-C
	$(BIN)/python -m local --template $(TEMPLATE) --port $(PORT)

test: $(VENV)/ready .venv-legacy/ready  ## run every test
	$(BIN)/python -m pytest -n 2

conformance: $(VENV)/ready  ## run the official MCP conformance suite against the local stack
	$(BIN)/python -m tests.conformance

check: $(VENV)/ready .venv-sam/ready  ## format, lint, types, import rules, template, manifests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/cfn-lint template.yaml
	SAM_CLI_TELEMETRY=0 .venv-sam/bin/sam validate --lint
	$(BIN)/python -m stepwire.manifests functions/mcp/tools

catalog: $(VENV)/ready  ## compile the manifests as `sam build` does
	$(BIN)/python -m stepwire.manifests functions/mcp/tools --output functions/mcp/catalog.json

build: $(VENV)/ready .venv-sam/ready  ## build what `sam deploy` uploads
	SAM_CLI_TELEMETRY=0 .venv-sam/bin/sam build

lock: $(VENV)/ready  ## make the lock files anew from pyproject.toml
	$(BIN)/python requirements/lock.py

clean:  ## remove what these targets made
	rm -rf .venv .venv-legacy .venv-sam .aws-sam .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/ready: requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

# mcp 1.x and 2.x cannot share an environment; the SAM CLI pins much of what we use otherwise.
.venv-legacy/ready: requirements/legacy-client.txt
.venv-sam/ready: requirements/sam.txt
.venv-%/ready:
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@
