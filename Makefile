# `make reproduce` and `make test` are all that is needed; both set up .venv by themselves.

PYTHON ?= python3
BIN := .venv/bin
# Marks of what is installed: everything, and what `reproduce` needs.
READY := .venv/ready
REPRODUCING := .venv/ready-to-reproduce
OLDEST := .oldest
# Each file of tests in one process, the longest files first (tests/conftest.py).
IN_PARALLEL := --numprocesses auto --dist loadfile --no-loadscope-reorder
NOTEBOOKS := $(sort $(wildcard notebooks/*.ipynb))

.PHONY: setup reproduce notebooks accept test pytest coverage papers long mutants fuzz fuzz-programs oldest lint league bench docs release clean

setup: $(READY)

# $(call install,extra,size,time)
define install
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "tcpcc needs Python 3.11 or newer; try: make PYTHON=python3.12"; exit 1; }
	@echo "installing the packages into .venv ($(2)): $(3)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@$(BIN)/python -m pip install --quiet --editable '.[$(1)]'
endef

$(READY): pyproject.toml
	$(call install,dev,1.3 GB,two minutes)
	@touch $(REPRODUCING) $@

$(REPRODUCING): pyproject.toml
	$(call install,reproduce,800 MB,one minute)
	@touch $@

# Every table and figure of the papers from both models, the scorecard, their notebooks with outputs;
# other studies are commands of their own (`tcpcc reproduce --help`).
# Finished simulations are kept in .cache/, so an interrupted run goes on where it was.
reproduce: $(REPRODUCING)
	@$(BIN)/python -m experiments.reproduce_all

# All notebooks with their outputs: those of the papers, and the tutorials, models, kernel, test-beds.
notebooks: $(READY)
	TCPCC_QUICK=0 $(BIN)/python -m experiments.execute $(NOTEBOOKS)

# The numbers and verdicts that tests hold every run to, first those of all seeds, then the sample of
# a few, and all that shows them; `git diff experiments/data` shows what moved. After causes have been
# edited too: the notebooks tell them.
accept: $(READY)
	$(BIN)/tcpcc reproduce --accept
	$(BIN)/python -m experiments.differences
	$(BIN)/tcpcc reproduce --figures --scorecard docs/scorecard.md --readme README.md
	TCPCC_QUICK=1 $(BIN)/tcpcc reproduce --accept
	$(BIN)/tcpcc reproduce variants --accept --figures --scorecard docs/variants.md
	$(BIN)/tcpcc reproduce bbr_cubic --accept --figures
	$(BIN)/tcpcc reproduce ifip25 --accept --figures
	$(BIN)/tcpcc reproduce pam25 --accept --figures
	$(BIN)/python -m experiments.response
	$(BIN)/python -m experiments.fluid_page
	$(MAKE) --no-print-directory notebooks

# All tests; of the papers' numbers the first few seeds. Lint takes one processor, tests take all.
test: $(READY)
	@$(MAKE) --no-print-directory --jobs 2 lint pytest

pytest: $(READY)
	$(BIN)/python -m pytest $(IN_PARALLEL)

# The share of tcpcc's lines that the tests run, without compiled functions, whose lines are not seen.
coverage: $(READY)
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest $(IN_PARALLEL)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --sort=cover

# Every number of every paper (of one: PAPER=l4s), all seeds, and the notebooks. What `reproduce`
# keeps is not simulated again, neither by tests nor by notebooks; so it comes first.
PAPER ?=
papers: $(READY)
	$(BIN)/tcpcc reproduce $(PAPER) > /dev/null
	$(if $(PAPER),,$(BIN)/tcpcc reproduce variants > /dev/null)
	$(BIN)/python -m pytest $(IN_PARALLEL) -m papers -k "$(PAPER)"

# Long runs: the battery, random programs, the kernel's senders, the site, studies, and two seeds of
# those numbers of the papers that `test` leaves out.
long: $(READY)
	$(BIN)/python -m pytest $(IN_PARALLEL) -m long

# Faults planted at random, and the test that sees each: one or two CPU minutes a fault.
MUTANTS ?= 60
mutants: $(READY)
	$(BIN)/python tests/mutants.py $(MUTANTS) $(SEED)

# Random scenarios over all that can be named, calls of rules, damaged files; `test` has the first 12.
SCENARIOS ?= 1000
SEED ?= 1
fuzz: $(READY)
	$(BIN)/python tests/fuzz.py $(SCENARIOS) $(SEED)

# Random rules exported to C, beside Python: a quarter of an hour on 4 cores; `long` has 250.
PROGRAMS ?= 10000
fuzz-programs: $(READY)
	$(BIN)/python tests/apps/export/fuzz_programs.py $(PROGRAMS) $(SEED)

# Quick tests with the oldest version of each dependency that pyproject.toml allows; `test` has the
# newest. About 3 minutes.
oldest:
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --upgrade pip
	$(OLDEST)/bin/python tests/oldest.py > $(OLDEST)/requirements.txt
	$(OLDEST)/bin/python -m pip install --quiet --only-binary :all: -r $(OLDEST)/requirements.txt
	TCPCC_CACHE_DIR=$(CURDIR)/$(OLDEST)/cache PYTHONPATH=$(CURDIR) $(OLDEST)/bin/python -m pytest \
	  $(IN_PARALLEL) tests/engine tests/results tests/sweeps tests/models/test_costs.py \
	  tests/models/packet/test_closed_forms.py

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache

# The site in docs/_build/html; the papers are in docs/_build/html/papers. The pictures of the gallery are
# drawn again if the package has changed: two minutes more.
docs: $(READY)
	$(BIN)/sphinx-build --quiet --fail-on-warning --builder html docs docs/_build/html

# A release rehearsed: source distribution and wheel in dist/, checked; then a fresh environment with
# the wheel alone runs the README, a picture, a foreign controller and `run.cite()`. Minutes, 1 GB.
release: $(READY)
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python tests/release.py dist

# All controllers evaluated after RFC 9743; docs/league.md shows what they fail. Minutes.
league: $(READY)
	$(BIN)/tcpcc evaluate all --quick --out report/league
	cp report/league/league.nc docs/league.nc
	$(BIN)/python docs/pages.py

bench: $(READY)
	$(BIN)/tcpcc bench
	$(BIN)/python -m pytest tests/benchmarks/bench_*.py --benchmark-only --benchmark-columns=median,rounds

clean:
	rm -rf docs/_build docs/_live docs/_reference docs/controllers docs/notebooks docs/papers docs/conformance_cases.md
	rm -rf docs/front.txt docs/thumbnails.txt docs/gallery.md
	rm -f docs/gallery/*.md docs/gallery/*.png docs/gallery/*.key
	rm -rf .venv $(OLDEST) .cache build dist report .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
