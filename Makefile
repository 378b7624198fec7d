# make demo: see it work. make test: prove it. `make help` lists the rest.
# Needs python3 >= 3.10 with its venv module, and make; nothing else. The stamp files make reruns fast.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
SETUP  := setup.cfg pyproject.toml constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test test-long check format docs bench clean

help:
	@echo "make demo       install into $(VENV) and plan a drain of the built-in cluster"
	@echo "make test       the quick tests"
	@echo "make test-long  the tests that take minutes"
	@echo "make check      style, types, import contracts, generated documents"
	@echo "make format     let ruff rewrite what it can"
	@echo "make docs       rewrite the generated documents"
	@echo "make bench      measure; QUICK=1 for a short run without thresholds"
	@echo "make clean      remove everything made here"

# The demo has blockers, so its exit code is 1; any other but 0 is a failure.
demo: $(VENV)/.installed
	@$(BIN)/kubectl-eksdoc drain plan --demo; code=$$?; [ $$code -le 1 ] || exit $$code
	@echo
	@echo "That was the built-in cluster. Next:"
	@echo "  $(BIN)/kubectl-eksdoc drain plan --demo -o wide         every eviction in its order"
	@echo "  $(BIN)/kubectl-eksdoc drain plan --nodegroup NAME       your cluster, as your kubeconfig says; changes nothing"
	@echo "  export PATH=\"$(abspath $(BIN)):\$$PATH\"  then: kubectl eksdoc drain plan --help"

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest -q -m "not long"

test-long: $(VENV)/.installed-test
	$(BIN)/python -m pytest -q -m long

check: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m tools.documents --check

format: $(VENV)/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.installed-test
	$(BIN)/python -m tools.documents

bench: $(VENV)/.installed-test
	QUICK=$(QUICK) $(BIN)/python bench/run.py

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "error: there is no $(PYTHON) here; install Python 3.10 or newer, or say make PYTHON=/path/to/python3"; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "error: Python 3.10 or newer is needed and $(PYTHON) is $$($(PYTHON) -c 'import platform; print(platform.python_version())'); say make PYTHON=/path/to/a/newer/python3"; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "error: $(PYTHON) has no venv module; on Debian and Ubuntu: apt install python3-venv"; exit 2; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(SETUP) | $(BIN)/python
	@echo "installing into $(VENV) (once; about a minute) …"
	@$(PIP) install --quiet -c constraints.txt -e .
	@touch $@

$(VENV)/.installed-test: $(SETUP) | $(BIN)/python
	@echo "installing with the test tools into $(VENV) (once; about a minute) …"
	@$(PIP) install --quiet -c constraints.txt -e '.[test]'
	@touch $@ $(VENV)/.installed
