# Every command does its own set-up on Debian 12 with Python 3.11 and make, and says what it installs. `make help` lists them.
PYTHON ?= python3
SETUP := $(PYTHON) tools/setup.py
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help run ranks test test-long bench-join bench-operators bench-queries bench-analytics bench-scan bench-control bench-channels bench-mpi bench-sim fault-schedules soak coverage wheel gpu-bundle lint format clean

help:  ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | awk -F'|' '{ printf "make %-15s %s\n", $$1, $$2 }'

run:  ## build, make TPC-H tables as Parquet, join them and show the result
	@$(SETUP) run
	@$(BIN)/crossdock demo --scale 1 --data build/data

ranks:  ## add what ranks use to the build: MPI, UCX, PMIx and the control plane; and tables on devices
	@$(SETUP) ranks

test:  ## run every check and every test
	@$(SETUP) dev
	@$(BIN)/python tools/check.py

test-long:  ## compile each header alone, fuzz for two minutes a target, try all seeds, use channels for ten: 40 minutes after the build
	@$(SETUP) dev
	@$(BIN)/python tools/check.py long

bench-join:  ## measure the join against DuckDB, Polars and DataFusion
	@$(SETUP) dev
	@$(BIN)/python bench join

bench-operators:  ## measure group-by, sort and merge join against five engines
	@$(SETUP) dev
	@$(BIN)/python bench operators

bench-queries:  ## measure all queries of TPC-H and SSB against DuckDB and Polars
	@$(SETUP) dev
	@$(BIN)/python bench queries

bench-analytics:  ## measure group-bys, joins and page views against DuckDB and Polars
	@$(SETUP) dev
	@$(BIN)/python bench analytics

bench-scan:  ## measure reading of files against DuckDB and Polars
	@$(SETUP) dev
	@$(BIN)/python bench scan

bench-control:  ## measure how long the planning of channels takes
	@$(SETUP) dev
	@$(BIN)/python bench control

bench-channels:  ## measure channels against memcpy, Open MPI, UCX and iperf3
	@$(SETUP) dev
	@$(BIN)/python bench channels

bench-mpi:  ## measure joins over ranks, and how near predictions are
	@$(SETUP) dev
	@$(BIN)/python bench mpi

bench-sim:  ## measure how near simulated joins are to published ones, and what simulating takes
	@$(SETUP) dev
	@$(BIN)/python bench sim

# A week of nights runs a million.
fault-schedules:  ## run a share of a million schedules of faults in simulated networks: make fault-schedules SHARE=3/7
	@$(SETUP) dev
	@$(BIN)/python tools/fault_schedules.py $(or $(SHARE),1/7)

soak:  ## open, use and close random channels among processes for ten minutes, half over TCP
	@$(SETUP) dev
	@cmake --preset dev && cmake --build --preset dev --target crossdock_channel_soak
	@build/dev/crossdock_channel_soak 5
	@build/dev/crossdock_channel_soak 5 3 1 tcp

wheel:  ## make wheels and the source package in dist/, and install them in empty environments
	@$(SETUP) dev
	@$(BIN)/python tools/wheels/make_wheels.py --all
	@$(BIN)/python tools/wheels/try_wheels.py

gpu-bundle:  ## build a folder that tests, profiles and measures everything on a machine with a GPU (tools/gpu_run.sh in it)
	@$(SETUP) dev
	@$(BIN)/python tools/gpu_bundle.py

coverage:  ## count the lines and branches of C++ and Python that the tests run: an hour
	@$(SETUP) dev
	@$(BIN)/python tools/check.py coverage

lint:  ## run the checks of text and types only
	@$(SETUP) tools
	@$(BIN)/python tools/check.py lint

format:  ## rewrite C++ and Python in the house format
	@$(SETUP) tools
	@$(BIN)/python tools/check.py format

# A folder has its name.
.PHONY: docs
docs:  ## build the documentation site in build/site, links checked
	@$(SETUP) tools
	@$(BIN)/python tools/docs_site.py

clean:  ## remove what was built; the virtual environment stays
	rm -rf build dist
