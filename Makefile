# Five words: app, test, check, format, golden. Each sets up what it needs in .venv.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
# A plain `pip install torch` brings gigabytes of CUDA; set TORCH=torch on a machine with a GPU.
TORCH ?= torch==2.13.0
export HF_HUB_DISABLE_TELEMETRY = 1
export GRADIO_ANALYTICS_ENABLED = False
export TOKENIZERS_PARALLELISM = false

.PHONY: app test test-all test-browser check format golden setup setup-dev

app: setup
	$(PY) -m app

test: setup-dev
	$(PY) -m pytest -q -n 2 -m "not slow and not browser"

test-browser: setup-dev
	$(PY) -m pytest -q -m browser tests/browser

test-all: setup-dev
	$(PY) -m pytest -q -m ""

check: setup-dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

format: setup-dev
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

golden: setup-dev
	$(PY) -m tests.golden.record

setup: $(VENV)/.app
setup-dev: $(VENV)/.dev

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install -q --upgrade pip

$(VENV)/.app: requirements.txt | $(VENV)/bin/python
	$(PY) -m pip install -q $(TORCH)
	$(PY) -m pip install -q -r requirements.txt
	touch $@

$(VENV)/.dev: requirements-dev.txt $(VENV)/.app
	$(PY) -m pip install -q -r requirements-dev.txt
	touch $@
