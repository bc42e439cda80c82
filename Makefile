# The commands for developers and CI. `make` without a target lists them.

CARGO ?= cargo
export HERMES_HOME ?= $(CURDIR)/target/hermes-home

.DEFAULT_GOAL := help
.PHONY: help run test test-slow laws lint docs generated bench picture clean

help: ## List the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# CI uses its own build: `make run PROFILE=`.
PROFILE ?= --release

run: ## Run a batch of real tool calls through the whole pipeline
	$(CARGO) run $(PROFILE) -- exec examples/first-calls.json

test: ## Run all tests, with the components that they need
	scripts/test.sh

test-slow: ## Run the slow tests: Apptainer, figures, a real model, 200 kills, Maven, PostgreSQL
	scripts/test-slow.sh

laws: ## Run the property tests with many fresh cases
	PROPTEST_CASES=$${CASES:-5000} $(CARGO) nextest run --workspace --locked

lint: ## Check formatting, clippy and rustdoc
	scripts/lint.sh

docs: ## Write the generated files
	scripts/generate.sh

generated: ## Check that the generated files are current
	scripts/generate.sh --check

bench: ## Benchmark against the original; writes bench/RESULTS.md
	bench/setup.sh
	$(CARGO) build --release -p hermes-cli -p hermes -p hermes-delegation -p hermes-history \
	  -p hermes-mcp -p hermes-net -p hermes-sandbox -p hermes-testkit --examples
	$(CARGO) build --release
	python3 bench/run.py

picture: ## Record the terminal screenshot of the README
	scripts/picture.sh

clean: ## Remove build artifacts
	$(CARGO) clean
