# Each target makes its own virtual environment at first use.  Later runs are quick and offline.
#
#   make certify   judge librdkafka's mock broker; the certificate goes to certificate/
#   make test      everything that a change must pass (tox)
#   make clean     remove what these made
#
# PYTHON names the interpreter (3.11 or later), TARGET and REPORT what to certify and where to write,
# ENVS environments of tox, instead of all that a change must pass.

PYTHON ?= $(shell for python in python3 python3.11 python3.12 python3.13; do \
	$$python -c '$(IS_RECENT)' 2>/dev/null && { echo $$python; exit; }; done; echo python3)
TARGET ?= mock
REPORT ?= certificate

IS_RECENT := import sys; sys.exit(sys.version_info < (3, 11))
SETUPTOOLS := setuptools>=77,<84
TOX_VERSION := 4.67.13

CERTIFY := .venv/certify
TOXED := .venv/tox
PIP := $(CERTIFY)/bin/python -m pip --disable-pip-version-check --quiet
# Without isolation a build needs no registry; in a folder of its own it packs no deleted module.
INSTALL = $(PIP) install --no-build-isolation \
	--config-settings="--global-option=build --build-base=$(CURDIR)/$(CERTIFY)/build"

# The folders themselves too: a module that was deleted changes nothing else.
FLOORS := $(shell find model properties traces conformance -type d ! -name __pycache__)
SOURCES := $(FLOORS) README.md LICENSE \
	$(shell find $(FLOORS) -maxdepth 1 \( -name '*.py' -o -name '*.json' -o -name '*.css' -o -name '*.js' -o -name '*.html' \
	-o -name '*.java' -o -name '*.go' -o -name '*.mjs' -o -name '*.txt' -o -name '*.toml' \))

.PHONY: certify test clean
.DELETE_ON_ERROR:

certify: $(CERTIFY)/installed
	$(CERTIFY)/bin/fencepost certify $(TARGET) --report $(REPORT)

test: $(TOXED)/tox-$(TOX_VERSION)
	$(TOXED)/bin/tox run-parallel $(if $(ENVS),-e $(ENVS))

clean:
	rm -rf .venv .tox build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis $(REPORT)

# A stamp is written last, so that an interrupted installation is begun again.
$(CERTIFY)/installed: $(CERTIFY)/dependencies $(SOURCES)
	rm -rf $(CERTIFY)/build
	$(INSTALL) --no-deps --force-reinstall .
	touch $@

# pip asks the registry only for what is missing: a change of another kind works offline too.
$(CERTIFY)/dependencies: pyproject.toml | $(CERTIFY)/bin/python
	$(PIP) install '$(SETUPTOOLS)'
	$(INSTALL) '.[mock]'
	touch $@

$(TOXED)/tox-$(TOX_VERSION): | $(TOXED)/bin/python
	$(TOXED)/bin/python -m pip --disable-pip-version-check --quiet install 'tox==$(TOX_VERSION)'
	touch $@

.venv/%/bin/python:
	@$(PYTHON) -c '$(IS_RECENT)' || { \
		echo "fencepost needs Python 3.11 or later, but $(PYTHON) is: $$($(PYTHON) --version 2>&1)." \
		"Name another one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(@D)/..
