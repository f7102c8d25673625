# Everything a clone needs: Python >= 3.11 with pip, and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
# Numba's cache overlooks edits of functions that it inlined: forget it when any kernel is newer.
FORGET_KERNELS = find src -name '*.nb[ci]' ! -newer "$$(ls -t $$(grep -rl 'njit\|from numba' src --include='*.py') | head -1)" -delete

.PHONY: demo quick test test-extractors test-gpu test-integrations docs check format bench clean

# Two processes run the tests: OpenMP's threads of both would wait for each other, three times as long.
quick test test-extractors test-integrations: export OMP_NUM_THREADS = 1
quick test: export OPENBLAS_NUM_THREADS = 2

demo: $(VENV)/.runtime  ## evaluate four generators of handwritten digits, leave a picture
	$(BIN)/precall demo --out demo

quick: $(VENV)/.dev  ## what to run between two edits: no browser, no simulations
	$(FORGET_KERNELS)
	$(BIN)/ruff check .
	HYPOTHESIS_PROFILE=quick $(BIN)/python -m pytest -q -m "not slow" -n 2 --dist loadfile tests

test: $(VENV)/.dev  ## run every test, doctest and README example
	$(FORGET_KERNELS)
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-gpu: $(VENV)-gpu/.torch  ## the GPU engine without a GPU: ordinary operations, then kernels interpreted; what else needs torch
	$(VENV)-gpu/bin/python -m pytest -q -n 2 tests/engines/test_gpu_bounds.py tests/engines/test_gpu_contract.py tests/engines/test_cluster_devices.py tests/data/test_device_arrays.py
	TRITON_INTERPRET=1 $(VENV)-gpu/bin/python -m pytest -q -n 2 tests/engines/test_gpu_contract.py
	PYTHONPATH=$(VENV)-gpu/peers $(VENV)-gpu/bin/python -m pytest -q -n 2 tests/scores/test_conventions.py tests/data/test_reader_formats.py tests/data/test_inputs.py

test-extractors: $(VENV)-gpu/.torch  ## models that make features, against other definitions of them
	PYTHONPATH=$(VENV)-gpu/peers $(VENV)-gpu/bin/python -m pytest -q -n 2 tests/extractors tests/extraction tests/inputs tests/cli/test_extracting.py

test-integrations: $(VENV)-gpu/.torch  ## training loops: torchmetrics, two processes, Lightning
	$(VENV)-gpu/bin/python -m pytest -q -n 2 --dist loadfile tests/integrations src/precall/integrations

docs: $(VENV)-docs/.sphinx  ## build the site, docs/_build/html; a warning is an error
	$(VENV)-docs/bin/python -m sphinx -q -W --keep-going -j 2 -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

check: $(VENV)/.dev  ## lint, formatting, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev  ## speed as ratios, side by side with a bare matrix product and with peers
	$(PIP) --editable '.[bench]'
	env -u OPENBLAS_CORETYPE $(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) $(VENV)-gpu $(VENV)-docs docs/_build docs/examples docs/reference/generated docs/reference/backreferences demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/.python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "precall needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.runtime: $(VENV)/.python pyproject.toml
	$(PIP) --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.python pyproject.toml
	$(PIP) --editable '.[dev]'
	touch $@ $(VENV)/.runtime

# One environment for all that needs torch: a build without a GPU, the models that make features,
# and apart from them, since torchmetrics would want all of it, another program's definition of one.
$(VENV)-gpu/.torch: pyproject.toml
	$(PYTHON) -m venv $(VENV)-gpu
	$(VENV)-gpu/bin/python -m pip --disable-pip-version-check install --quiet --editable '.[test,images,text,audio]' torch==2.13.0 triton lightning tensorboard torchmetrics efficientnet_lite_pytorch==0.1.0
	$(VENV)-gpu/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --target $(VENV)-gpu/peers torch-fidelity==0.4.0
	touch $@

$(VENV)-docs/.sphinx: pyproject.toml
	$(PYTHON) -m venv $(VENV)-docs
	$(VENV)-docs/bin/python -m pip --disable-pip-version-check install --quiet --editable '.[docs]'
	touch $@
