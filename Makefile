# What people run; each says what it needs. CI runs `make test` and nothing else.
SHELL := /bin/bash
CARGO ?= cargo
PEERS := target/peers
# Where cargo puts what it builds.
TARGET := $(or $(CARGO_TARGET_DIR),target)
# Built for the benchmark only, each in a workspace of its own; zenoh takes minutes, once.
BENCH_PEERS := iceoryx2 zenoh
BENCH ?=
# How many inputs `make test` tries on each parser: the same ones every time, some ten seconds' worth. `make soak` looks
# for new ones, so many seconds on each.
FUZZ_RUNS := datagrams=3000 dynamic=50000 eventlog=50000 gate=20000 generated=50000 language=5000 link_frames=50000 \
	log_damage=1500 log_files=4000 log_index=15000 models=6000 nmea=40000 robot_files=3000 roboteq=40000 scanner=40000 \
	station_frames=40000 tcpq=200000 worlds=6000
SOAK_SECONDS ?= 1200

.PHONY: demo test gen liblcm python packages bench soak peers check binary page browser models mutants fuzz

demo: ## a simulated vessel surveys a harbour, and the page shows it
	$(CARGO) run --quiet --release -p bowline -- demo

test: peers check page browser models fuzz ## everything: peers, formatting, lints, tests, the page in a browser, schedules, fuzzing
	@echo "make test: all passed"

check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --all-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --quiet --workspace --no-deps --all-features
	$(CARGO) test --workspace --all-features

# The same features as `check`, so that nothing is built twice.
BOWLINE := $(TARGET)/debug/bowline
binary:
	$(CARGO) build --quiet --workspace --all-features --bin bowline

page: peers binary ## the operator's page: its promises, and that what is committed is what is built
	@scripts/check-page $(BOWLINE)

browser: peers binary ## the operator's page in a browser, against the real station
	@BOWLINE=$(abspath $(BOWLINE)) npm --silent --prefix tests/browser test

models: ## the bus under thousands of schedules, and twins of it that must fail
	$(CARGO) test --quiet --locked --manifest-path tests/models/Cargo.toml --target-dir target/models

mutants: ## the gate and the lease, broken in every way: the tests must find out
	@scripts/mutants

gen: ## types/ -> crates/msgs, and the page's own
	$(CARGO) run --quiet -p bowline -- gen --rust crates/msgs/src/generated --typescript crates/station/web/src/generated types/

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

peers: ## the real peers: the lcm wheel and TypeScript in target/peers, a browser, and what builds the page
	@scripts/setup-peers $(PEERS)

fuzz: ## every parser and decoder against hostile input, the same every time
	@scripts/fuzz runs $(FUZZ_RUNS)

soak: ## the same for as long as one likes, looking for what nobody thought of
	@scripts/fuzz $(SOAK_SECONDS) $(FUZZ_RUNS)
