# What people run; each names what it needs. CI runs `make test` and nothing else.
SHELL := /bin/bash
CARGO ?= cargo
# Where cargo puts what it builds.
TARGET := $(or $(CARGO_TARGET_DIR),target)
# Built for the benchmark only, each in a workspace of its own; zenoh takes minutes, once.
BENCH_PEERS := iceoryx2 zenoh
BENCH ?=
# The steps of the test run, each a target of its own; scripts/test has them.
STEPS := peers format words lints docs book build tests doctests page browser models

.PHONY: demo test $(STEPS) gen liblcm python packages bench soak mutants fuzz

# A profile and features of its own: a third of the crates, hardly optimised, so that the page is there soon.
demo: ## a simulated vessel surveys a harbour, and the page shows it
	$(CARGO) build --profile demo -p bowline --no-default-features --features station
	$(TARGET)/demo/bowline demo

test: ## everything: peers, formatting, lints, documents, tests, the page in a browser, schedules
	@scripts/test

$(STEPS):
	@scripts/test $@

mutants: ## the gate and the lease, broken in every way: the tests must notice; `scripts/mutants --list` has other rows
	@scripts/mutants gate

gen: ## types/ -> crates/msgs and crates/wire, and the page's own; the table of commands -> the page; --help -> docs/reference
	$(CARGO) run --quiet -p bowline -- gen --rust crates/wire/src/generated --rust-wire crate types/bookmark_t.lcm types/schema_t.lcm
	$(CARGO) run --quiet -p bowline -- gen --rust crates/msgs/src/generated \
		--rust-reuse bowline.bookmark_t=bowline_wire::messages,bowline.schema_t=bowline_wire::messages \
		--typescript crates/station/web/src/generated types/
	$(CARGO) run --quiet -p bowline -- operate commands --json >crates/station/web/src/session/commands.json
	$(CARGO) run --quiet -p bowline -- man --markdown docs/reference

liblcm: ## LCM's C library on our bus, for programs that exist: target/release/liblcm.so.1
	$(CARGO) build --quiet --release -p bowline-liblcm
	cp $(TARGET)/release/liblcm.so $(TARGET)/release/liblcm.so.1.new
	mv $(TARGET)/release/liblcm.so.1.new $(TARGET)/release/liblcm.so.1

python: ## the Python module: a wheel in target/wheels, for every Python since 3.9
	python3 -m pip wheel --quiet --no-deps --wheel-dir target/wheels ./bindings/python

packages: ## crates, archive, .deb, wheel, sdist and npm package in target/packages, each installed and used in a clean place
	@scripts/packages

bench: peers ## our figures and the peers', side by side; BENCH="bus --quick" for a part
	$(CARGO) build --quiet --release -p bowline -p bowline-bench
	for peer in $(BENCH_PEERS); do \
		$(CARGO) build --quiet --release --locked --manifest-path bench/$$peer/Cargo.toml \
			--target-dir target/bench-peers/$$peer || exit 1; \
	done
	./target/release/bowline-bench $(BENCH)

fuzz: ## every parser and decoder under libFuzzer, ten seconds each; `make test` replays the corpora
	@scripts/fuzz 10

soak: ## what `make test` samples run whole, new cases for properties, fuzzing, mutants; prints a ledger of what ran when
	@scripts/soak
