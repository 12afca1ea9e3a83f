# `make demo` and `make test` set up their environments; `make help` lists all targets.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: FORCE help demo run logs services test compiled browser screenshots repeat e2e load check style types templates docs \
	scan first-run explore mutants fuzz model conformance hosts catalog build account deploy release deploy-examples replay lock bench \
	bench-release clean

PYTHON ?= python3
BIN := .venv/bin
PORT ?= 3000
# The extras of the stack, separated by commas, or none; without it, all.
WITH ?=
# The first is the endpoint's; the others are stacks that register tools.
TEMPLATE ?= stack.yaml $(wildcard examples/template.yaml)
TEMPLATES := template.yaml stack.yaml $(wildcard examples/template.yaml) tests/adopter/template.yaml tests/conformance/template.yaml \
	packages/local/tests/stack/template.yaml
CONFIG ?= dev
# Without this make's flags: they would affect the makefiles that `sam build` runs.
SAM := env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS SAM_CLI_TELEMETRY=0 .venv-sam/bin/sam

# Targets and tests start many interpreters; without cached bytecode, each would compile every module it imports.
unexport PYTHONDONTWRITEBYTECODE
# Where it is set, output that is never flushed arrives all the same, and a test that waits for it passes.
unexport PYTHONUNBUFFERED

USER_TARGETS := demo|run|logs|test|build|deploy|replay|clean

help:  ## list the targets
	@echo "For users:"; grep -hE '^($(USER_TARGETS)):.*## ' $(MAKEFILE_LIST) | sed -E 's/^/  /; s/:.*## /\t/' | expand -t 20
	@echo "For contributors:"; grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | grep -vE '^($(USER_TARGETS)):' \
		| sed -E 's/^/  /; s/:.*## /\t/' | expand -t 20

# The stack that is served, built and deployed: the core's template with the parts of its extras.
stack.yaml: .venv/ready FORCE
	@$(BIN)/python -m stepwire_cli.deployment.parts $(if $(WITH),--with $(WITH)) --output $@

demo: stack.yaml  ## run the examples as MCP tasks on the local stack; ALL=1 with races; ARGS=--yes answers
	@test -d examples || { echo "The demo runs the workflows of examples/, which this checkout no longer has. Serve your own: make run" >&2; exit 1; }
	@$(BIN)/python -m examples.demo $(if $(ALL),--all) $(ARGS)

run: stack.yaml  ## serve TEMPLATE on 127.0.0.1:PORT (3000); LOG=json, ISSUER=cognito, ARGS=--verbose
	@$(BIN)/python -m stepwire_local $(addprefix --template ,$(TEMPLATE)) --port $(PORT) $(if $(ISSUER),--issuer $(ISSUER)) $(ARGS)

logs: .venv/ready  ## show the functions' log of the last demo or run; ARGS=--follow
	@$(BIN)/python -m stepwire_local logs $(ARGS)

services: build  ## serve the AWS services for `sam local` on 127.0.0.1:4566
	@$(BIN)/python -m stepwire_local --services $(addprefix --template ,$(TEMPLATE)) $(ARGS)

# --dist loadfile: the tests of a file share a stack, so one worker runs them. More workers than cores: some tests wait
# for a workflow, of the long ones many. A fixed hash seed keeps the order of sets the same in each run.
test: .venv/ready .venv-legacy/ready .venv-sam/ready $(if $(ALL),.venv-fastmcp/ready)  ## run the tests; ALL=1 adds the long ones; ARGS are pytest's
	PYTHONHASHSEED=0 $(BIN)/python -m pytest -n $(if $(ALL),4,3) --dist loadfile --no-loadscope-reorder $(if $(ALL),-m 'not deployed' --hypothesis-profile=full) $(ARGS)

# For .ci/run: the workers of the tests start together, and each would compile nearly all that they import.
compiled: .venv/ready
	@$(BIN)/python -m pytest --collect-only >/dev/null 2>&1 || echo "Some tests cannot be collected; make test says why"

browser: .venv/ready  ## install Chromium for the tests in a browser, or say how
	@$(BIN)/python -m tests.browser

screenshots: stack.yaml  ## make the documents' pictures; ARGS='--only console'
	@$(BIN)/python -m tools.pictures $(ARGS)

repeat: .venv/ready .venv-legacy/ready .venv-sam/ready  ## run `make test` RUNS (20) times, every second time with busy cores
	$(BIN)/python -m tools.repeat $(if $(RUNS),--runs $(RUNS))

# With ENDPOINT, the tests use that running endpoint: nothing is built or emulated.
FOR_THE_EMULATOR = $(if $(ENDPOINT),,.venv-sam/ready .venv-e2e/ready)

e2e: .venv/ready .venv-legacy/ready $(FOR_THE_EMULATOR)  ## build, deploy to an emulated AWS and run scenarios, or run them against ENDPOINT
	$(BIN)/python -m pytest -m deployed tests/deployed -rs --durations=5 $(ARGS)

# In an account, by hand: it says what it makes and what that costs, asks, and removes all.
first-run: stack.yaml release  ## in an AWS account of yours, try what was never tried there; ARGS='--region eu-central-1 --idle-hour'
	$(BIN)/python -m tools.first_run $(ARGS)

load: .venv/ready  ## run 2,000 tasks of 200 clients and check that none is lost; ARGS=--tasks=100
	$(BIN)/python -m tools.load $(ARGS)

# One environment for each peer. Figures, not tests: nothing fails because a machine is slow.
BENCH_READY := $(addsuffix /ready,$(addprefix .venv-bench-,awslabs mcp-1 mcp-2 fastmcp stdio))

bench: stack.yaml $(BENCH_READY)  ## measure cold starts, poll hints and delays; write docs/performance.md
	$(BIN)/python -m benchmarks.cold --update $(ARGS)
	$(BIN)/python -m benchmarks.hints --update
	$(BIN)/python -m benchmarks.end_to_end --update

bench-release: .venv/ready .venv-bench-release/ready release  ## measure cold starts of what `make release` makes; needs Python 3.13
	$(BIN)/python -m benchmarks.cold --artifact dist/stepwire-*.zip --update $(ARGS)

# Its parts need nothing of each other: `make --jobs=2 check`.
check: style types templates docs  ## format, lint, types, import rules, templates, workflows, manifests, docs
	@echo "All checks passed. Next: make test"

style: .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-logo

types: .venv/ready
	$(BIN)/pyright

templates: stack.yaml .venv-sam/ready
	$(BIN)/python -m stepwire.manifests.reading functions/mcp/tools
	$(BIN)/python -m stepwire.manifests.reading tests/conformance/functions/mcp/tools
	$(BIN)/python -m tests.template.manifests $(TEMPLATES)
	$(BIN)/cfn-lint $(TEMPLATES) $(wildcard $(addsuffix .yaml,docs/assets/* docs/extras/*/* examples/extras/*/* tools/first_run/templates/*))
	set -e; for template in $(TEMPLATES); do \
		AWS_DEFAULT_REGION=us-east-1 $(BIN)/python -m tests.template.translated $$template | $(BIN)/cfn-lint /dev/stdin; done
	$(SAM) validate --lint
	$(SAM) validate --lint --template stack.yaml

# A link or an anchor that leads nowhere fails the build. Nothing is fetched but the packages of the lock and Mermaid, from npm.
docs: .venv/ready .venv-docs/ready  ## build the documentation as a site with search, into .site/
	$(BIN)/python -m requirements.mermaid .venv-docs/mermaid.min.js
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet --strict
	cp .venv-docs/mermaid.min.js .site/assets/

scan: stack.yaml .venv-checkov/ready  ## check the template against checkov's rules; .checkov.yaml has the exceptions
	AWS_DEFAULT_REGION=us-east-1 $(BIN)/python -m tests.template.translated stack.yaml --unconditional > .checkov.json
	.venv-checkov/bin/checkov --config-file .checkov.yaml --file .checkov.json

mutants: .venv/ready .venv-legacy/ready .venv-sam/ready  ## change the kit in small ways, and see which tests find it; ARGS='--modules tasks'
	PYTHONHASHSEED=0 $(BIN)/python -m tools.mutants $(ARGS)

explore: .venv/ready  ## run the property tests and the model with new examples for SECONDS (600)
	$(BIN)/python -m tools.explore $(if $(SECONDS),--seconds $(SECONDS)) $(ARGS)

fuzz: .venv-fuzz/ready  ## run a coverage-guided fuzzer for SECONDS (600); TARGET=requests runs only that one
	PYTHONPATH=layers/stepwire .venv-fuzz/bin/python -m tests.fuzz $(if $(SECONDS),--seconds $(SECONDS)) $(TARGET) $(ARGS)

conformance: .venv/ready  ## run the official MCP conformance suite against the local stack
	$(BIN)/python -m tests.conformance

# By hand, and not in CI: it installs some gigabytes, and takes more than an hour.
hosts: stack.yaml  ## drive MCP hosts with a scripted model; ARGS='--host=opencode --case=fetch'
	$(BIN)/python -m tools.hosts $(ARGS)

model: .venv/ready  ## run clients, workflows and faults in random order, checked by the model; ARGS=--steps=N
	$(BIN)/python -m tests.model $(ARGS)

catalog: .venv/ready  ## compile the manifests as `sam build` does
	$(BIN)/python -m stepwire.manifests.reading functions/mcp/tools --output functions/mcp/catalog.json

build: stack.yaml .venv-sam/ready  ## build the artifacts for `make deploy` and print their sizes; WITH=events,lines chooses extras
	$(SAM) build --template stack.yaml
	@$(BIN)/python layers/artifacts.py .aws-sam/build
	@echo "Built. Next: make deploy"

release: .venv/ready .venv-sam/ready  ## build what is released: the artifact and the wheels, into dist/; ARGS='--output FOLDER'
	@$(BIN)/python -m release $(ARGS)

deploy: account build  ## deploy to AWS with CONFIG (dev, prod) of samconfig.toml; ARGS are `sam deploy`'s
	$(SAM) deploy --config-env $(CONFIG) $(ARGS)

# The build takes a minute: what a deployment lacks is said before it.
account: .venv/ready
	@$(BIN)/python layers/account.py $(CONFIG) $(ARGS)

ENDPOINT_STACK ?= stepwire-dev

deploy-examples: .venv/ready .venv-sam/ready  ## deploy the examples' stack beside the stack ENDPOINT_STACK (stepwire-dev)
	$(SAM) build --template examples/template.yaml --build-dir .aws-sam/examples
	$(BIN)/python layers/artifacts.py .aws-sam/examples
	$(SAM) deploy --template-file .aws-sam/examples/template.yaml --config-env examples --stack-name $(ENDPOINT_STACK)-examples \
		--parameter-overrides Endpoint=$(ENDPOINT_STACK) $(ARGS)

replay: .venv/ready  ## redeliver what is in the dead-letter queue of STACK; ARGS=--dry-run only shows it
	@$(BIN)/python -m stepwire_cli replay $(STACK) $(ARGS)

lock: .venv/ready  ## resolve the lock files from pyproject.toml; UPGRADE=1 takes the newest versions
	$(BIN)/python requirements/lock.py $(if $(UPGRADE),--upgrade)

clean:  ## remove everything that these targets create
	rm -rf dist packages/command/stepwire_cli/deployment/release.zip .venv .venv-hosts .venv-legacy .venv-fastmcp .venv-bench-* .venv-sam .venv-e2e .venv-checkov .venv-fuzz .venv-docs .checkov.json .aws-sam .fuzz .site .stepwire .mutants
	rm -rf .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	rm -rf functions/mcp/catalog.json functions/catalog/release_tools.json tests/conformance/functions/mcp/catalog.json
	rm -rf tests/conformance/node_modules tests/clients/node/node_modules tools/hosts/node/node_modules \
		tests/browser/node/node_modules tests/sign_in/node/node_modules tests/clients/ai_sdk/node_modules tests/clients/apps/node_modules
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# An environment is recreated when its lock changes or its installation was interrupted: the file `ready` marks a complete
# one, and of several commands one makes it. mcp 1.x and 2.x cannot share an environment; the SAM CLI pins versions that conflict with ours.
.venv/ready: requirements/dev.txt
.venv-legacy/ready: requirements/legacy-client.txt
.venv-fastmcp/ready: requirements/fastmcp.txt
$(BENCH_READY) .venv-bench-release/ready: .venv-bench-%/ready: requirements/bench-%.txt
.venv-bench-release/ready: PYTHON = $(or $(STEPWIRE_BYTECODE),python3.13)
.venv-bench-release/ready: PYTHON_NEEDED = This needs the Python of the runtime, 3.13: make ... STEPWIRE_BYTECODE=/path/to/python3.13
.venv-sam/ready: requirements/sam.txt
.venv-e2e/ready: requirements/e2e.txt
.venv-checkov/ready: requirements/checkov.txt
.venv-fuzz/ready: requirements/fuzz.txt
.venv-docs/ready: requirements/docs.txt

PYTHON_NEEDED = Stepwire needs Python 3.11 or later: make ... PYTHON=/path/to/python3
FIND_PYTHON := import sys; print(sys._base_executable) if sys.version_info >= (3, 11) else sys.exit(1)

.venv/ready .venv-legacy/ready .venv-fastmcp/ready $(BENCH_READY) .venv-bench-release/ready .venv-sam/ready .venv-e2e/ready .venv-checkov/ready .venv-fuzz/ready .venv-docs/ready:
	@python=$$($(PYTHON) -c '$(FIND_PYTHON)' 2>/dev/null) || { echo "$(PYTHON_NEEDED)" >&2; exit 1; }; \
		"$$python" requirements/environment.py $(@D) $< \
		$(if $(filter .venv,$(@D)),--editable . --editable ./packages/client --editable ./packages/command --editable ./packages/local --editable ./packages/wrap)
