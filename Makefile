# make demo: see it work. make test: prove it. `make help` lists the rest.
# Needs python3 >= 3.10 with its venv module, and make; the first run fetches packages from the package index.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Modules instead of scripts: the first line of a script names the folder in which it was made.
PY     := $(BIN)/python -m
PIP    := $(PY) pip --disable-pip-version-check
SETUP  := setup.cfg pyproject.toml constraints.txt
# Some tests wait for processes and clocks, and most of the long ones do.
CORES   = $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
WORKERS = $(shell echo $$(( $(CORES) + ($(CORES) + 1) / 2 )))
# Rewriting assertions takes three times as long as importing the tests: only what failed is run again with it.
# Of the long tests, which run beside many processes, up to three may fail if they pass alone.
PYTEST  = $(PY) pytest -q --assert=plain --durations=10 --durations-min=0.01 -p tests.workers --workers $(WORKERS)
# Bytecode is kept with the environment, also where the shell forbids it beside the sources.
export PYTHONPYCACHEPREFIX = $(abspath $(VENV))/bytecode
export PYTHONDONTWRITEBYTECODE =

.DEFAULT_GOAL := help
.PHONY: help demo quick test test-long test-real check format docs site bench krew lock release image clean FORCE
# Two pips in one environment get in each other's way, so -j has no say here.
.NOTPARALLEL:
# Interrupted, make would remove the file by which it knows that the environment is its own.
.PRECIOUS: $(VENV)/.made

help:
	@echo "make demo       install into $(VENV) and plan a drain of the built-in cluster"
	@echo "make quick      the tests near what changed since main, at most a minute"
	@echo "make test       all tests but the long ones"
	@echo "make test-long  the long tests, and all examples of properties"
	@echo "make test-real  drain a real cluster: KUBECONFIG=FILE [OLD=n1,n2 NEW=n3,n4]"
	@echo "                or update add-ons there: KUBECONFIG=FILE ADDONS=300"
	@echo "make check      style, types, import contracts, generated documents"
	@echo "make format     let ruff rewrite what it can"
	@echo "make docs       rewrite the demo's snapshot and the generated documents"
	@echo "make site       build the documentation as a static site, into build/site"
	@echo "make bench      measure; QUICK=1 for a short run without thresholds"
	@echo "make krew       build archives (dist) and manifests (plugins) for krew"
	@echo "make lock       rewrite the checksums of the archives' wheels"
	@echo "make release    what is published: VERSION=1.2.3 [OWNER=name] [DATE=…]"
	@echo "make image      build the image of the Dockerfile with docker, podman or buildah"
	@echo "make clean      remove everything made here"
	@echo
	@echo "The first run fetches packages from the package index (or from pip's cache)."

# The demo has blockers, so its exit code is 1; any other but 0 is a failure.
demo: $(VENV)/.installed
	@$(PY) kubectl_eksdoc drain plan --demo; code=$$?; [ $$code -le 1 ] || exit $$code
	@echo
	@echo "That was the built-in cluster. For yours, and nothing is changed there:"
	@echo "  export PATH=\"$(abspath $(BIN)):\$$PATH\""
	@echo "  kubectl eksdoc drain plan --nodegroup NAME"
	@echo "  kubectl eksdoc drain plan --help"

quick: $(VENV)/.installed-test
	$(PY) tools.quick

test: $(VENV)/.installed-test
	$(PYTEST) -m "not long" || $(PY) tests.rerun_failures

test-long: WORKERS = $(shell echo $$((2 * $(CORES))))
test-long: $(VENV)/.installed-test
	export EKSDOC_EXAMPLES=all; $(PYTEST) -m "long or hypothesis" || { [ $$? -eq 1 ] && $(PY) tests.rerun_failures 3; }

# A kubeconfig of the environment may be that of production: it has to be named here.
test-real: $(VENV)/.installed-test
	@[ "$(origin KUBECONFIG)" = "command line" ] || { \
	  echo "error: name the cluster that may be drained: make test-real KUBECONFIG=FILE"; exit 2; }
	$(PY) $(if $(ADDONS),tools.real.addons --histories "$(ADDONS)",tools.real.run --old "$(OLD)" --new "$(NEW)") \
	  --kubeconfig "$(KUBECONFIG)" $(ARGS)

check: $(VENV)/.installed-test
	$(PY) ruff check .
	$(PY) ruff format --check .
	$(PY) mypy
	$(BIN)/python $(BIN)/lint-imports --no-logo
	$(PY) tools.demo --check
	$(PY) tools.documents --check

format: $(VENV)/.installed-test
	$(PY) ruff check --fix .
	$(PY) ruff format .

docs: $(VENV)/.installed-test
	$(PY) tools.demo
	$(PY) tools.documents

site: $(VENV)/.installed-site
	PYTHONPATH=. $(PY) mkdocs build --strict

bench: $(VENV)/.installed-test
	QUICK=$(QUICK) $(PY) bench.run

krew: $(VENV)/.installed-test
	$(PY) tools.krew.build

lock: $(VENV)/.installed-test
	$(PY) tools.krew.lock

# Changes the version, the changelog and what follows from them here; docs/releasing.md says what comes then.
release: $(VENV)/.installed-test
	$(PY) tools.release.prepare --version "$(VERSION)" --owner "$(OWNER)" --date "$(DATE)"
	rm -rf dist
	$(PY) tools.krew.build
	$(PY) tools.documents
	$(PY) tools.release.build

RELEASED = $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' kubectl_eksdoc/__init__.py)
image:
	@for tool in docker podman buildah; do command -v $$tool >/dev/null && break; tool=; done; \
	[ -n "$$tool" ] || { echo "error: an image is built by docker, podman or buildah, and there is none"; exit 2; }; \
	$$tool build --build-arg "VERSION=$(RELEASED)" --tag "kubectl-eksdoc:$(RELEASED)" .

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Holds the environment's own path once it is whole. Looked at in every run, because an environment may have been moved
# with its folder, left half made, or have lost its Python. Only what is make's own is removed: .venv, or what has this
# file; any other environment named by VENV is used as it is.
$(VENV)/.made: FORCE
	@if [ -e $@ ]; then \
	  [ "$$(cat $@)" = "$$(cd $(VENV) && pwd -P)" ] && $(BIN)/python -c 'import pip' 2>/dev/null && exit; \
	  echo "making $(VENV) anew: it was moved, left half made, or its Python is gone"; \
	elif $(PIP) --version >/dev/null 2>&1; then \
	  (cd $(VENV) && pwd -P) > $@; exit; \
	elif [ "$(origin VENV)" != file ] && [ -n "$$(ls -A $(VENV) 2>/dev/null)" ]; then \
	  echo "error: $(VENV) is there and has no pip that works; remove it, or name another VENV"; exit 2; \
	fi; \
	command -v $(PYTHON) >/dev/null || { \
	  echo "error: there is no $(PYTHON) here; install Python 3.10 or newer,"; \
	  echo "       or say make PYTHON=/path/to/python3"; exit 2; }; \
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "error: Python 3.10 or newer is needed, and $(PYTHON) is older:"; \
	  $(PYTHON) --version; \
	  echo "       say make PYTHON=/path/to/a/newer/python3"; exit 2; }; \
	$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "error: $(PYTHON) has no venv module;"; \
	  echo "       on Debian and Ubuntu: apt install python3-venv"; exit 2; }; \
	rm -rf $(VENV) && mkdir -p $(VENV) && echo unfinished > $@ && $(PYTHON) -m venv $(VENV) && \
	(cd $(VENV) && pwd -P) > $@

$(VENV)/.installed: $(SETUP) $(VENV)/.made
	@echo "installing into $(VENV) from the package index (once; up to a minute) …"
	@$(PIP) install --quiet -c constraints.txt -e .
	@touch $@

$(VENV)/.installed-site: $(SETUP) $(VENV)/.made
	@$(PIP) install --quiet -c constraints.txt -e '.[site]'
	@touch $@

$(VENV)/.installed-test: $(SETUP) $(VENV)/.made
	@echo "installing into $(VENV), with the test tools, from the package index"
	@echo "(once; up to a minute) …"
	@$(PIP) install --quiet -c constraints.txt -e '.[test]'
	@$(PY) compileall -q -j 0 kubectl_eksdoc tests tools
	@touch $@ $(VENV)/.installed
