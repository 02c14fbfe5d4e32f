# cfaudit: the targets are a line or two each; `make run` and `make test` work on a fresh machine with Rust and a C compiler.

JOB ?= demo.yaml
PEER ?= --peer
ARGS ?=
KILLS ?= 200
CARGO ?= cargo
PYTHON ?= python3
AXE_JOBS ?= demo adult adult-recourse compas
TARGET = $(or $(CARGO_TARGET_DIR),target)
BIN = $(TARGET)/debug/cfaudit
# Where to find what LightGBM takes to compile, and whether to build without it: see .ci/tools.
ENV = . .tools/env &&
FEATURES = $$CFAUDIT_FEATURES

.PHONY: tools build run check diff test airflow dvc kills fuzz axe dist dist-test lint schema golden bench bench-generation bench-metrics bench-models bench-boss bench-recourse clean

.tools/env: .ci/tools
	@.ci/tools

tools:            ## looks again for what LightGBM takes to compile: CMake and libclang, else fetched into .tools/
	@.ci/tools

build: .tools/env  ## the one program that the other targets run
	@test -x $(BIN) || echo "first build: about ten minutes on two cores, some 290 crates"
	@$(ENV) $(CARGO) build --locked --bins $(FEATURES) $(if $(wildcard $(BIN)),--quiet)

run: build        ## make run JOB=adult.yaml: runs jobs/adult.yaml into outputs/<name of the job>/
	@$(BIN) run $(if $(wildcard $(JOB)),$(JOB),jobs/$(JOB)) $(ARGS)

check: build      ## all problems of a job, each with file, line and hint
	@$(BIN) check $(if $(wildcard $(JOB)),$(JOB),jobs/$(JOB)) $(ARGS)

diff: build       ## make diff A=outputs/old B=outputs/new: what has changed, and is it more than chance; ARGS="--out DIR" writes a page
	@$(BIN) diff $(A) $(B) $(ARGS)

test: .tools/env   ## unit and integration tests; tests that need absent data or programs say so
	$(ENV) $(CARGO) test --locked $(FEATURES)

$(TARGET)/%/ready: tests/requirements/%.txt
	@test -x $(TARGET)/$*/venv/bin/python || python3 -m venv $(TARGET)/$*/venv
	@$(TARGET)/$*/venv/bin/pip install --quiet --requirement $<
	@touch $@

airflow: $(TARGET)/airflow/ready .tools/env  ## the recipe of jobs/recipes/ under the real Airflow, fetched into target/airflow (300 MB)
	$(ENV) CFAUDIT_AIRFLOW=$(abspath $(TARGET))/airflow/venv/bin/airflow $(CARGO) test --locked $(FEATURES) --test it -- --nocapture schedule::

dvc: $(TARGET)/dvc/ready .tools/env  ## summary.json under the real dvc, fetched into target/dvc
	$(ENV) CFAUDIT_DVC=$(abspath $(TARGET))/dvc/venv/bin/dvc $(CARGO) test --locked $(FEATURES) --test it -- --nocapture dvc

kills: .tools/env  ## kills runs of every shape at 200 random moments: the same bytes in the end
	$(ENV) CFAUDIT_KILLS=$(KILLS) $(CARGO) test --locked $(FEATURES) --test it -- --nocapture killed_at_any_moment

fuzz: .tools/env  ## make fuzz MINUTES=10: mutated jobs, rows, files and streams of scores, so long each; `make test` tries a fixed few thousand
	$(ENV) CFAUDIT_FUZZ_MINUTES=$(or $(MINUTES),10) $(CARGO) test --locked $(FEATURES) --test it -- --nocapture --test-threads 1 fuzz::

$(TARGET)/axe/ready: tests/axe/package.json tests/axe/package-lock.json
	@mkdir -p $(@D)
	@cp $^ $(@D)/
	@cd $(@D) && npm ci --silent --no-audit --no-fund
	@touch $@

axe: build $(TARGET)/axe/ready    ## reports under axe-core in Chromium: WCAG A and AA on screen, phone, paper; ARGS="--shots DIR" leaves pictures
	@for job in $(AXE_JOBS); do $(BIN) run jobs/$$job.yaml --gates report --quiet --out $(TARGET)/axe/out/$$job || exit; done
	@node tests/axe/check.mjs --modules $(TARGET)/axe $(ARGS) $(AXE_JOBS:%=$(TARGET)/axe/out/%/report.html)

dist: $(TARGET)/packages/ready .tools/env   ## the packages: the program with everything, the same as a Python wheel, and a static one without onnx and lightgbm
	@$(ENV) CARGO="$(CARGO)" TARGET=$(abspath $(TARGET)) tests/packages/make.sh

dist-test:        ## installs what `make dist` made in fresh places, and runs it there
	@TARGET=$(abspath $(TARGET)) tests/packages/try.sh

lint: .tools/env   ## formatting and clippy, warnings are errors
	$(CARGO) fmt --check
	$(ENV) $(CARGO) clippy --locked --all-targets $(FEATURES) -- -D warnings

schema: build     ## writes schemas/ afresh from the types
	@$(BIN) schema job > schemas/job.schema.json
	@$(BIN) schema manifest > schemas/manifest.schema.json
	@$(BIN) schema summary > schemas/summary.schema.json

golden: .tools/env  ## rewrites the expected texts of the tests; look at the difference before you commit it
	$(ENV) CFAUDIT_BLESS=1 $(CARGO) test --locked $(FEATURES)

$(TARGET)/bench/venv/ready: bench/requirements.txt
	@test -x $(TARGET)/bench/venv/bin/python || python3 -m venv $(TARGET)/bench/venv
	@$(TARGET)/bench/venv/bin/pip install --quiet --requirement bench/requirements.txt
	@touch $@

bench: build $(TARGET)/bench/venv/ready  ## times cfaudit beside polars and duckdb in one run; needs Python 3, fetches all peers into target/bench
	@$(TARGET)/bench/venv/bin/python bench/run.py --cfaudit $(BIN) --folder $(TARGET)/bench $(ARGS)

bench-generation: build $(TARGET)/bench/venv/ready  ## times counterfactuals beside numpy and pandas; ARGS="--data-dir DIR" has adult/adult.parquet
	@$(ENV) $(TARGET)/bench/venv/bin/python bench/generation.py --cfaudit $(BIN) --folder $(TARGET)/bench \
		--memory "$(CARGO) bench --locked $(FEATURES) --quiet --profile dev --bench memory --" $(ARGS)

$(TARGET)/bench/venv-models/ready: bench/requirements-models.txt
	@test -x $(TARGET)/bench/venv-models/bin/python || python3 -m venv $(TARGET)/bench/venv-models
	@$(TARGET)/bench/venv-models/bin/pip install --quiet --requirement bench/requirements-models.txt
	@touch $@

bench-models: build $(TARGET)/bench/venv-models/ready  ## times training and scoring beside LightGBM, scikit-learn and onnxruntime
	@VIRTUAL_ENV=$(TARGET)/bench/venv-models $(TARGET)/bench/venv-models/bin/python bench/models.py --cfaudit $(BIN) \
		--folder $(TARGET)/bench $(ARGS)

bench-boss: build  ## times the search of causal graphs beside causal-learn's: make bench-boss PYTHON=...; needs `pip install causal-learn`
	@$(ENV) $(PYTHON) bench/boss.py --cfaudit "$(CARGO) bench --locked $(FEATURES) --quiet --profile dev --bench boss --" $(ARGS)

bench-metrics: build $(TARGET)/bench/venv/ready  ## times metrics beside polars, duckdb, fairlearn, aif360 and smclarify; ARGS="--rows 1000000" is less
	@$(TARGET)/bench/venv/bin/python bench/metrics.py --cfaudit $(BIN) --folder $(TARGET)/bench $(ARGS)

bench-recourse: .tools/env $(TARGET)/bench/venv/ready  ## times recourse beside AIF360's detector (minutes; without it: PEER=) and over several supports; DATA=data
	@$(ENV) $(TARGET)/bench/venv/bin/python bench/recourse.py --folder $(TARGET)/bench/recourse --data-dir $(or $(DATA),data) $(PEER) \
		--program "$(CARGO) bench --locked $(FEATURES) --quiet --profile dev --bench recourse --" $(ARGS)

clean:
	rm -rf outputs/*/ outputs/.cache
