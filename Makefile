# `make demo` and `make test` set themselves up; the rest is listed by `make help`.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo run logs services test repeat e2e load check scan explore fuzz model conformance catalog build deploy replay lock clean

PYTHON ?= python3
BIN := .venv/bin
PORT ?= 3000
TEMPLATE ?= template.yaml
TEMPLATES := template.yaml tests/conformance/template.yaml tests/local/stack/template.yaml
CONFIG ?= dev
# Without the flags of this make, which are not meant for the makefiles that `sam build` runs.
SAM := env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS SAM_CLI_TELEMETRY=0 .venv-sam/bin/sam

help:  ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: .venv/ready  ## run the example workflows as MCP tasks on the local stack; ARGS=--yes answers what they ask
	@$(BIN)/python -m examples.demo $(ARGS)

run: .venv/ready  ## serve TEMPLATE (template.yaml) on 127.0.0.1:PORT (3000) until Ctrl-C; LOG=json, ARGS=--verbose
	@$(BIN)/python -m local --template $(TEMPLATE) --port $(PORT) $(ARGS)

logs: .venv/ready  ## show what functions wrote in the last `make demo` or `make run`; ARGS=--follow goes on
	@$(BIN)/python -m local.logs $(ARGS)

services: build  ## serve what `sam local` needs of AWS on 127.0.0.1:4566 until Ctrl-C; ARGS are those of `python -m local`
	@$(BIN)/python -m local --services --template $(TEMPLATE) $(ARGS)

# A file's tests stay in one worker, because they share a stack. Three workers for two cores: many tests wait for a
# workflow. The hash seed is fixed: sets keep their order.
test: .venv/ready .venv-legacy/ready .venv-sam/ready  ## run the tests; ALL=1 adds the long ones; ARGS are pytest's
	PYTHONHASHSEED=0 $(BIN)/python -m pytest -n 3 --dist loadfile $(if $(ALL),-m 'not deployed') $(ARGS)

repeat: .venv/ready .venv-legacy/ready .venv-sam/ready  ## run `make test` RUNS (20) times, every other time on busy cores
	$(BIN)/python -m tests.repeat $(if $(RUNS),--runs $(RUNS))

# Nothing is built or emulated where ENDPOINT names what runs already.
FOR_THE_EMULATOR = $(if $(ENDPOINT),,.venv-sam/ready .venv-e2e/ready)

e2e: .venv/ready .venv-legacy/ready $(FOR_THE_EMULATOR)  ## build, deploy to an emulated AWS, run scenarios; or against ENDPOINT
	$(BIN)/python -m pytest -m deployed tests/deployed -rs --durations=5 $(ARGS)

load: .venv/ready  ## put 2,000 tasks and 200 clients on the local stack, see that nothing is lost; ARGS=--tasks=100 ...
	$(BIN)/python -m tests.load $(ARGS)

check: .venv/ready .venv-sam/ready  ## format, lint, types, import rules, templates, workflows, manifests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m stepwire.manifests functions/mcp/tools
	$(BIN)/python -m stepwire.manifests tests/conformance/functions/mcp/tools
	$(BIN)/cfn-lint $(TEMPLATES)
	set -e; for template in $(TEMPLATES); do \
		AWS_DEFAULT_REGION=us-east-1 $(BIN)/python -m tests.template.translated $$template | $(BIN)/cfn-lint /dev/stdin; done
	$(SAM) validate --lint

scan: .venv/ready .venv-checkov/ready  ## hold the template against checkov's rules; .checkov.yaml has the exceptions
	AWS_DEFAULT_REGION=us-east-1 $(BIN)/python -m tests.template.translated template.yaml > .checkov.json
	.venv-checkov/bin/checkov --config-file .checkov.yaml --file .checkov.json

explore: .venv/ready  ## try new examples in all property tests and the model for SECONDS (600); keeps the seed of what fails
	$(BIN)/python -m tests.explore $(if $(SECONDS),--seconds $(SECONDS)) $(ARGS)

fuzz: .venv-fuzz/ready  ## try inputs for SECONDS (600) with a coverage-guided fuzzer; TARGET=requests alone; docs/fuzzing.md
	PYTHONPATH=layers/stepwire .venv-fuzz/bin/python -m tests.fuzz $(if $(SECONDS),--seconds $(SECONDS)) $(TARGET) $(ARGS)

conformance: .venv/ready  ## run the official MCP conformance suite against the local stack
	$(BIN)/python -m tests.conformance

model: .venv/ready  ## try clients, workflows, faults and the sweep in any order, by the model of docs/reliability.md; ARGS=--steps=N
	$(BIN)/python -m tests.model $(ARGS)

catalog: .venv/ready  ## compile the manifests as `sam build` does
	$(BIN)/python -m stepwire.manifests functions/mcp/tools --output functions/mcp/catalog.json

build: .venv/ready .venv-sam/ready  ## build what `make deploy` uploads, and print how large it is; needs no Docker
	$(SAM) build
	$(BIN)/python layers/artifacts.py .aws-sam/build

deploy: build  ## deploy to AWS as CONFIG (dev, prod) in samconfig.toml says; ARGS are those of `sam deploy`
	$(SAM) deploy --config-env $(CONFIG) $(ARGS)

replay: .venv/ready  ## deliver again what waits in the dead-letter queue of STACK; ARGS=--dry-run only shows it
	@$(BIN)/python -m operations $(STACK) $(ARGS)

lock: .venv/ready  ## make the lock files anew from pyproject.toml
	$(BIN)/python requirements/lock.py

clean:  ## remove what these targets made
	rm -rf .venv .venv-legacy .venv-sam .venv-e2e .venv-checkov .venv-fuzz .checkov.json .aws-sam .fuzz .stepwire
	rm -rf .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	rm -rf functions/mcp/catalog.json tests/conformance/functions/mcp/catalog.json tests/conformance/node_modules
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Environments are made anew when their lock changes, or when the last try was cut off: only `ready` says that one is whole.
# mcp 1.x and 2.x cannot share one; the SAM CLI pins much of what we use otherwise.
.venv/ready: requirements/dev.txt
.venv-legacy/ready: requirements/legacy-client.txt
.venv-sam/ready: requirements/sam.txt
.venv-e2e/ready: requirements/e2e.txt
.venv-checkov/ready: requirements/checkov.txt
.venv-fuzz/ready: requirements/fuzz.txt

FIND_PYTHON := import sys; print(sys._base_executable) if sys.version_info >= (3, 11) else sys.exit(1)

.venv/ready .venv-legacy/ready .venv-sam/ready .venv-e2e/ready .venv-checkov/ready .venv-fuzz/ready:
	@python=$$($(PYTHON) -c '$(FIND_PYTHON)' 2>/dev/null) \
		|| { echo "Stepwire needs Python 3.11 or later: make ... PYTHON=/path/to/python3" >&2; exit 1; }; \
		echo "Setting up $(@D): a minute or two, once"; rm -rf $(@D) && "$$python" -m venv $(@D)
	@$(@D)/bin/python requirements/install.py $< $(if $(filter .venv,$(@D)),--editable .)
	@touch $@
