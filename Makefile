# The words: app, test, test-thorough, test-installed, test-wheel, test-packed, test-gpu, test-floor, test-newest, check, format, golden, lock. Each sets up what
# it needs in .venv, and in node_modules where node is.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
# On Linux the build with CUDA, some gigabytes, unless pip is pointed at the CPU wheels of PyTorch; a range takes a newer one.
TORCH ?= torch==2.13.0
# The page's development tools (Biome, tsc, node's test runner); nobody needs them to serve or to use the page.
NODE := $(shell command -v node 2>/dev/null)
BIN := node_modules/.bin
# What every change must pass, but for what drives a browser or starts a server; of it, tests of under a second or so.
EVERY := not slow and not browser and not installed and not gpu
QUICK := $(EVERY) and not thorough
export HF_HUB_DISABLE_TELEMETRY = 1
export GRADIO_ANALYTICS_ENABLED = False
export TOKENIZERS_PARALLELISM = false

FLOOR := build/floor

.PHONY: lock test-floor test-newest app test test-thorough test-all test-gpu test-installed test-wheel test-packed test-browser test-page check check-page format format-page golden setup setup-dev

app: setup
	$(PY) -m app

test: setup-dev test-page
	$(PY) -m pytest -q -n 2 -m "$(QUICK)"

# The others of it.
test-thorough: setup-dev
	$(PY) -m pytest -q -n 2 -m "$(EVERY) and thorough"

test-browser: setup-dev
	$(PY) -m pytest -q -rR -m browser --reruns 2 tests/browser

# What a user starts: the page's server, the package as a wheel installs it, the notebook.
test-installed: setup-dev
	$(PY) -m pytest -q -n 2 -m installed

# Packed weights, with packages of their own: where they are installed, transformers imports torchao in every process.
test-packed: setup-dev
	$(VENV)/bin/pip install -q --no-deps --target build/packed "torchao>=0.17" "bitsandbytes>=0.50"
	PYTHONPATH=build/packed $(PY) -m pytest -q tests/engine/model/test_families.py -k packed_weights

# The wheel in an environment that holds nothing else: run, compare, a page, a notebook, and the server.
test-wheel: setup-dev
	rm -rf build/wheel
	$(PY) -m pip wheel -q --no-deps -w build/wheel .
	$(PYTHON) -m venv build/wheel/venv
	build/wheel/venv/bin/pip install -q $(TORCH)
	build/wheel/venv/bin/pip install -q build/wheel/*.whl nbclient ipykernel
	DRAFTSCOPE_WHEEL=build/wheel/venv $(PY) -m pytest -q -m slow tests/test_package.py

# On a machine with a CUDA device; all other tests hide it, since "auto" would choose it.
test-gpu: setup-dev
	DRAFTSCOPE_TEST_GPU=1 $(PY) -m pytest -q -m gpu tests/engine/devices

test-all: setup-dev test-page
	$(PY) -m pytest -q -m ""

# The lowest versions that the requirements allow, in an environment of their own. The lowest torch is a CUDA build of some
# gigabytes; `make test-floor FLOOR_TORCH=torch==2.13.0` takes another.
FLOOR_TORCH ?= torch==2.9.0

test-floor: setup-dev
	mkdir -p build
	rm -f build/floor.txt
	$(VENV)/bin/uv pip compile -q --resolution lowest-direct --python $(PY) --no-emit-index-url --no-emit-find-links requirements.txt -o build/floor.txt
	grep -vE '^(torch|triton|nvidia-|cuda-)' build/floor.txt > build/floor-others.txt
	$(PYTHON) -m venv $(FLOOR)
	$(FLOOR)/bin/pip install -q $(FLOOR_TORCH)
	$(FLOOR)/bin/pip install -q -r build/floor-others.txt
	$(FLOOR)/bin/pip install -q -c build/floor-others.txt -r requirements-dev.txt
	$(FLOOR)/bin/python -m pytest -q -n 2 -m "$(EVERY)"

# The newest versions that the requirements allow, in an environment of their own: what will break before users meet it.
NEWEST := build/newest

test-newest:
	rm -rf $(NEWEST)
	$(PYTHON) -m venv $(NEWEST)
	$(NEWEST)/bin/pip install -q $(TORCH)
	$(NEWEST)/bin/pip install -q -r requirements-dev.txt
	$(NEWEST)/bin/python -m pytest -q -n 2 -m "$(EVERY)"

# Exact versions with hashes for the container, CI and `make setup`; torch is not among them, since each machine has its own build of it.
lock: setup-dev
	$(PY) -m tests.lock

check: setup-dev check-page
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(PY) -m tests.apidocs check

format: setup-dev format-page
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

golden: setup-dev
	$(PY) -m tests.golden.record

ifdef NODE
check-page: node_modules/.tools
	$(BIN)/biome ci --error-on-warnings .
	$(BIN)/tsc --project tsconfig.json

test-page:
	node --test tests/static/*.test.js

format-page: node_modules/.tools
	$(BIN)/biome check --write .
else
check-page test-page format-page:
	@echo "$@ is left out: node is not installed. It runs Biome, tsc or the unit tests of app/static (CONTRIBUTING.md)."
endif

setup: $(VENV)/.app
setup-dev: $(VENV)/.dev

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install -q --upgrade pip

# The versions that were tested (`make lock`), so that a package's next release does not meet a fresh clone first.
# In a new .venv `make setup PINS=` takes the newest that the requirements allow, as a plain `pip install -r requirements.txt` does.
PINS ?= -c $(VENV)/pins.txt

$(VENV)/pins.txt: requirements.lock | $(VENV)/bin/python
	sed -n 's/^\([A-Za-z0-9].*[^ ]\) *\\$$/\1/p' requirements.lock > $@

$(VENV)/.app: requirements.txt $(VENV)/pins.txt
	$(PY) -m pip install -q $(TORCH)
	$(PY) -m pip install -q $(PINS) -r requirements.txt
	touch $@

$(VENV)/.dev: requirements-dev.txt $(VENV)/.app
	$(PY) -m pip install -q $(PINS) -r requirements-dev.txt
	touch $@

node_modules/.tools: package.json package-lock.json
	npm install --no-save --no-audit --no-fund --silent
	touch $@
