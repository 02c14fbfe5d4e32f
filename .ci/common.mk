# What all Makefiles here share. Each runs from the top of the tree: `make bench` calls `make -f bench/Makefile bench`.

CARGO ?= cargo
PYTHON ?= python3
TARGET := $(abspath $(or $(CARGO_TARGET_DIR),target))
BIN = $(TARGET)/debug/cfaudit
# Where to find what LightGBM takes to compile, and whether to build without it: see .ci/tools.
ENV = . .tools/env &&
FEATURES = $$CFAUDIT_FEATURES

.tools/env: .ci/tools
	@.ci/tools

.PHONY: build
build: .tools/env  ## the one program that the other targets run
	@test -d $(TARGET)/debug/deps || echo "first build: about ten minutes on two cores, some 290 crates"
	@$(ENV) $(CARGO) build --locked --bins $(FEATURES) $(if $(wildcard $(BIN)),--quiet)

# target/NAME/venv with what tests/requirements/NAME.txt lists.
$(TARGET)/%/ready: tests/requirements/%.txt
	@test -x $(@D)/venv/bin/python || $(PYTHON) -m venv $(@D)/venv
	@$(@D)/venv/bin/pip install --quiet --requirement $<
	@touch $@
