# One command for everything; `make help` lists them.

CARGO ?= cargo
PROFILE ?= hackbench
ARGS ?= --loops 2000
PAIRS ?= 10
SHAPES ?=
N ?= 100000
DESTDIR ?=
PREFIX ?= /usr/local

# Where rustup puts cargo, for shells that have not read its profile.
export PATH := $(PATH):$(HOME)/.cargo/bin

.PHONY: help run test vm-test lint build bench bench-peers install clean setup

help: ## list the commands
	@grep -E '^[a-z-]+:.*##' $(firstword $(MAKEFILE_LIST)) | \
	    awk -F ':.*## ' '{ printf "make %-12s %s\n", $$1, $$2 }'

run: build ## build and run a profile: PROFILE=hackbench ARGS='--loops 2000'
	target/release/schedload run $(PROFILE) $(ARGS)

test: lint ## everything that a change has to pass
	$(CARGO) test --locked --doc
	@if $(CARGO) nextest --version >/dev/null 2>&1; then \
	    set -x; $(CARGO) nextest run --locked --no-fail-fast; \
	else \
	    set -x; $(CARGO) test --locked --no-fail-fast --lib --bins --tests; \
	fi

vm-test: ## checks on machines with nodes, emulated: SHAPES='four-nodes isolcpus'
	@scripts/setup vm || test -z "$$SCHEDLOAD_REQUIRE_VM"
	$(CARGO) test --locked --test vm -- $(SHAPES)

lint: ## formatting, clippy and the documentation, without warnings
	@scripts/setup test
	$(CARGO) fmt --check
	$(CARGO) clippy --locked --all-targets -- -D warnings
	$(CARGO) clippy --locked --test vm -- -D warnings
	$(CARGO) clippy --locked --lib --no-default-features -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --locked --no-deps --document-private-items

build: setup ## the release binaries, in target/release
	$(CARGO) build --locked --release --bins

bench: setup ## our own benchmarks
	$(CARGO) bench --locked --benches

bench-peers: build ## against its peers: PAIRS=10 N=100000 OUT=benches/results
	@scripts/setup bench-peers
	python3 benches/peers/compare.py --pairs $(PAIRS) -n $(N) $(if $(OUT),--out $(OUT))

install: ## the binaries into PREFIX/bin
	@test -x target/release/schedload || $(MAKE) build
	install -d $(DESTDIR)$(PREFIX)/bin
	find target/release -maxdepth 1 -type f -perm -u+x -name 'schedload*' \
	    -exec install -m 755 -t $(DESTDIR)$(PREFIX)/bin {} +

clean: ## remove what was built
	$(CARGO) clean

setup: ## install the system packages that are missing
	@scripts/setup build
