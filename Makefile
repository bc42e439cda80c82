# The commands that people and CI use. `make` alone lists them.

CARGO ?= cargo
export HERMES_HOME ?= $(CURDIR)/target/hermes-home

.DEFAULT_GOAL := help
.PHONY: help run test test-slow laws lint docs generated bench picture clean

help: ## List the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# CI has a build of its own: `make run PROFILE=`.
PROFILE ?= --release

run: ## A batch of real tool calls through the whole pipeline
	$(CARGO) run $(PROFILE) -- exec examples/first-calls.json

test: ## Run every test, with whatever they need
	scripts/test.sh

test-slow: ## Tests with what takes long: Apptainer, figures, a real model, 200 kills, Maven, PostgreSQL
	scripts/test-slow.sh

laws: ## Property tests with many fresh cases
	PROPTEST_CASES=$${CASES:-5000} $(CARGO) nextest run --workspace --locked

lint: ## Formatting, clippy, rustdoc
	scripts/lint.sh

docs: ## Write the files that are generated from the registry
	scripts/generate.sh

generated: ## Check that those files are current
	scripts/generate.sh --check

bench: ## Measure against the original; writes bench/RESULTS.md
	bench/setup.sh
	$(CARGO) build --release -p hermes-cli -p hermes -p hermes-delegation -p hermes-history \
	  -p hermes-mcp -p hermes-net -p hermes-sandbox -p hermes-testkit --examples
	$(CARGO) build --release
	python3 bench/run.py

picture: ## Record the terminal picture of the README
	scripts/picture.sh

clean: ## Remove what was built
	$(CARGO) clean
