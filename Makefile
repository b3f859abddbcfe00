# The one interface to this repository; `make` alone says what there is.

TOOLS := tests/scripts/tools.sh
COMPILER := cc=build-essential
NEXTEST := cargo-nextest@0.9.143
DENY := cargo-deny@0.20.2
CONSOLE := $(shell find web docs/openapi.json -type f \
	-not -path 'web/node_modules/*' -not -path 'web/dist/*' -not -path 'web/tests/*' \
	-not -path 'web/artefacts/*' -not -name schema.ts 2>/dev/null)
RELEASE = $(or $(CARGO_TARGET_DIR),target)/release

# Where Debian keeps nginx, HAProxy and dockerd.
export PATH := $(PATH):/usr/sbin

.DEFAULT_GOAL := help
.PHONY: help build test lint fmt deny audit demo bench web web-test

help:
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build everything
	$(TOOLS) $(COMPILER)
	cargo build --workspace --locked

test: ## lint, hold the dependency rules, run every test; ARGS go to nextest
	$(TOOLS) $(COMPILER) curl=curl python3=python3 $(NEXTEST)
	$(MAKE) web lint deny
	tests/scripts/test.sh $(ARGS)
	$(if $(ARGS),,tests/scripts/web.sh)

lint: ## check the format, and clippy without a warning
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

fmt: ## format the code
	cargo fmt --all

deny: ## hold the dependency rules: layers, licences, sources
	$(TOOLS) $(DENY)
	tests/scripts/deny.sh

audit: ## look the dependencies up among the known advisories; needs a network
	$(TOOLS) $(DENY)
	cargo deny --locked check advisories

web: web/dist/index.html ## the console, for the next build of the binary; needs a network at first

# Cargo looks at the console again when the build script has changed.
web/dist/index.html: $(CONSOLE)
	tests/scripts/node.sh run build
	touch control-plane/server/build.rs

web-test: web ## the console in a real browser, against the real binary; ARGS go to vitest
	$(TOOLS) $(COMPILER)
	cargo build --locked --package thermocline
	tests/scripts/web.sh $(ARGS)

demo: ## deployments, traffic and tier changes on this machine; ARGS go to `thermocline demo`
	$(TOOLS) $(COMPILER)
	tests/scripts/dockerd.sh
	-$(MAKE) web
	cargo run --locked --package thermocline -- demo $(ARGS)

bench: ## measure against nginx and HAProxy, about ten minutes; ARGS=--quick takes one
	$(TOOLS) $(COMPILER) nginx=nginx-light haproxy=haproxy
	cargo build --release --locked --package thermocline --package thermocline-bench
	$(RELEASE)/thermocline-bench run --thermocline $(RELEASE)/thermocline $(ARGS)
