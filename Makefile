# One target a user's wish. `make` alone lists them.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/complete
TWO_FILES := -n 2 --dist loadfile --no-loadscope-reorder --durations 20 --durations-min 20
# Once the environment stands, its own Python is the one that counts.
BASE = $(if $(wildcard $(STAMP)),$(or $(wildcard $(PY)),$(PYTHON)),$(PYTHON))
LONG_RUN = --pool-tokens 8704 --document-tokens 7986 --repeats 1 --no-control
REFERENCE = lab/results/reference/cpu-tiny
# The look at the machine comes before what it may refuse.
ifndef SIDE_BY_SIDE
.NOTPARALLEL:
endif

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

lab: look-lab $(STAMP) ## set up a real engine, run the experiment, say what it shows (LONG=1: one 8k-token document as well)
	@$(PY) -m lab run
ifdef LONG
	@$(PY) -m lab run $(LONG_RUN) --output lab/results/latest-long.json
endif

reference: look-lab $(STAMP) ## measure the committed results anew: on a quiet machine, 15 minutes
	@$(PY) -m lab run --restart --output $(REFERENCE).json
	@$(PY) -m lab run --wiring in-process --output $(REFERENCE)-in-process.json
	@$(PY) -m lab run --page-cache --no-control --repeats 5 --output $(REFERENCE)-page-cache.json
	@$(PY) -m lab run $(LONG_RUN) --restart --output $(REFERENCE)-long.json
	@$(PY) -m lab run $(LONG_RUN) --wiring in-process --output $(REFERENCE)-long-in-process.json
	@$(PY) -m lab run $(LONG_RUN) --page-cache --repeats 3 --output $(REFERENCE)-page-cache-long.json
	@mv $(REFERENCE).png docs/lab.png
	@rm $(REFERENCE)*.png
	@$(PY) -m lab.report.documents
.PHONY: reference

# Installing takes one core, building two: each says what it does in lines, for two bars would overwrite each other.
test: look-test check ## all checks and tests, the real engine and real browsers included
	@TTY_COMPATIBLE=0 $(MAKE) --no-print-directory --jobs 2 SIDE_BY_SIDE=1 engine site
	@$(PY) -m pytest $(TWO_FILES)

engine: $(STAMP)
	@$(PY) -m lab setup
.PHONY: engine

quick: check ## what needs no engine, browser or built course
	@$(PY) -m pytest $(TWO_FILES) -q tests/core tests/machine tests/lab tests/lessons tests/notebooks tests/site/test_pages.py tests/site/test_policy.py

check: $(STAMP) ## formatting, lint and types
	@$(PY) -m ruff format --check .
	@$(PY) -m ruff check .
	@$(PY) -m mypy

bench: look-bench engine ## the doctor's score, and ratios, each measured in one run: our client against vLLM's own, the size command, diagnose against grep, the course against marimo's export
	-@$(PY) -m bench.doctor
	-@$(PY) -m bench.client
	-@$(PY) -m bench.commands
	-@$(MAKE) --no-print-directory bench-course

fresh-machine: $(STAMP) ## prove lab, site and test on a bare Debian 12 and 13 (root, apt, debootstrap; OPTIONS=--help)
	@$(PY) -m tests.fresh_machine $(OPTIONS)
.PHONY: fresh-machine

lock: ## resolve the requirements anew (needs uv)
	@requirements/lock.sh

clean: ## delete everything that was set up or built here
	rm -rf $(VENV) .lab site/dist site/.cache

# What this machine lacks for a target, before anything is downloaded.
look-%: FORCE
	@command -v $(BASE) >/dev/null || { echo "no $(BASE) on PATH: install Python 3.11 to 3.13, or make PYTHON=python3.12"; exit 1; }
	@$(BASE) -m machine $*

$(STAMP): requirements/project.txt | look-check
	@$(PYTHON) -m machine.environment

FORCE:

# the course: targets course, site, bench-course
include site/course.mk

.PHONY: help lab test quick check bench lock clean FORCE
