# Every target sets up what it needs: a machine with Python 3.11+ and make is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SETUP := $(VENV)/.setup
TESTING := $(VENV)/.testing

.PHONY: setup demo test lint docs bench chaos fuzz lock audit sbom clean

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

# 20,000 requests and 20,000 broken inputs, with counts as JSON.
fuzz: $(TESTING)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/fuzz_inputs.py --json docs/results/fuzz-inputs.json
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/fuzz_server.py --json docs/results/fuzz.json

# The file that CI and images install from: pip install --no-deps --require-hashes -r requirements.lock
LOCKED := dev baselines datasets docs integrations serve tensorboard
lock: $(SETUP)
	$(BIN)/python -m pip install --quiet uv
	echo 'torch==2.13.0+cpu' > $(VENV)/torch.txt
	$(BIN)/uv pip compile --quiet --generate-hashes --python-version 3.11.7 --constraint constraints.txt \
		--override $(VENV)/torch.txt --extra-index-url https://download.pytorch.org/whl/cpu \
		--index-strategy unsafe-best-match --no-annotate --no-header $(LOCKED:%=--extra %) pyproject.toml \
		--output-file $(VENV)/requirements.lock
	head -n 2 requirements.lock | cat - $(VENV)/requirements.lock > $(VENV)/lock && mv $(VENV)/lock requirements.lock

# Needs the network: the database of known vulnerabilities.
audit: $(SETUP)
	$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/pip-audit --no-deps --disable-pip --requirement requirements.lock

sbom: $(SETUP)
	$(BIN)/python -m pip install --quiet 'cyclonedx-bom>=7,<8'
	mkdir -p build
	$(BIN)/cyclonedx-py requirements requirements.lock --output-format JSON --output-file build/sbom.json

# Kills, deaths at scripted points, damaged files, full disks, hot copies, racing opens: about half an hour.
chaos: $(TESTING)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/chaos.py --json docs/results/chaos.json

clean:
	rm -rf $(VENV) build dist
