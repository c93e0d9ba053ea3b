# Every target sets up what it needs: a machine with Python 3.11+ and make is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SETUP := $(VENV)/.setup
TESTING := $(VENV)/.testing

.PHONY: setup demo test lint docs bench clean

setup: $(SETUP)

$(SETUP): pyproject.toml constraints.txt src/tsgen/version.py
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	@touch $@

$(TESTING): $(SETUP)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,baselines,datasets,docs,integrations,serve,tensorboard]'
	@touch $@

lint: $(TESTING)
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# One thread a worker: two OpenMP teams on two cores would wait for each other.
test: lint
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2 --dist worksteal

demo: $(SETUP)
	$(BIN)/tsgen demo

# The documentation at http://127.0.0.1:8000, built anew when a file changes.
docs: $(TESTING)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

# make bench DATA="…/wiki-10k …/wikipages-110k" BENCH="--only latency,growth"
bench: $(TESTING)
	$(BIN)/python benchmarks/run_all.py $(DATA) $(BENCH)

clean:
	rm -rf $(VENV) build dist
