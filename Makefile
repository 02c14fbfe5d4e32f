# cfaudit: the targets are a line or two each; `make run` and `make test` work on a fresh machine with Rust and a C compiler.

JOB ?= demo.yaml
PEER ?= --peer
ARGS ?=
CARGO ?= cargo
TARGET = $(or $(CARGO_TARGET_DIR),target)
BIN = $(TARGET)/debug/cfaudit

.PHONY: build run check diff test airflow dvc kills lint schema golden bench bench-generation bench-metrics bench-recourse clean

# Built together with the integration tests: what these depend on switches on features of shared crates, and one set of features for
# both means that `make test` after `make run` does not build the world a second time.
build:            ## the one program that the other targets run
	@$(CARGO) build --locked --quiet --bins --test it

run: build        ## make run JOB=adult.yaml: runs jobs/adult.yaml into outputs/<name of the job>/
	@$(BIN) run $(if $(wildcard $(JOB)),$(JOB),jobs/$(JOB)) $(ARGS)

check: build      ## all problems of a job, each with file, line and hint
	@$(BIN) check $(if $(wildcard $(JOB)),$(JOB),jobs/$(JOB)) $(ARGS)

diff: build       ## make diff A=outputs/old B=outputs/new: what has changed, and is it more than chance; ARGS="--out DIR" writes a page
	@$(BIN) diff $(A) $(B) $(ARGS)

test:             ## unit and integration tests; tests that need absent data say so
	$(CARGO) test --locked

$(TARGET)/%/ready: tests/requirements/%.txt
	@test -x $(TARGET)/$*/venv/bin/python || python3 -m venv $(TARGET)/$*/venv
	@$(TARGET)/$*/venv/bin/pip install --quiet --requirement $<
	@touch $@

airflow: $(TARGET)/airflow/ready  ## the recipe of jobs/recipes/ under the real Airflow, fetched into target/airflow (300 MB)
	CFAUDIT_AIRFLOW=$(abspath $(TARGET))/airflow/venv/bin/airflow $(CARGO) test --locked --test it -- --nocapture schedule::

dvc: $(TARGET)/dvc/ready          ## summary.json under the real dvc, fetched into target/dvc
	CFAUDIT_DVC=$(abspath $(TARGET))/dvc/venv/bin/dvc $(CARGO) test --locked --test it -- --nocapture dvc

kills:            ## kills runs of every shape at 200 random moments: the same bytes in the end
	CFAUDIT_KILLS=200 $(CARGO) test --locked --test it -- --nocapture killed_at_any_moment

lint:             ## formatting and clippy, warnings are errors
	$(CARGO) fmt --check
	$(CARGO) clippy --locked --all-targets -- -D warnings

schema: build     ## writes schemas/ afresh from the types
	@$(BIN) schema job > schemas/job.schema.json
	@$(BIN) schema manifest > schemas/manifest.schema.json
	@$(BIN) schema summary > schemas/summary.schema.json

golden:           ## rewrites the expected texts of the tests; look at the difference before you commit it
	CFAUDIT_BLESS=1 $(CARGO) test --locked

$(TARGET)/bench/venv/ready: bench/requirements.txt
	@test -x $(TARGET)/bench/venv/bin/python || python3 -m venv $(TARGET)/bench/venv
	@$(TARGET)/bench/venv/bin/pip install --quiet --requirement bench/requirements.txt
	@touch $@

bench: build $(TARGET)/bench/venv/ready  ## times cfaudit beside polars and duckdb in one run; needs Python 3, fetches all peers into target/bench
	@$(TARGET)/bench/venv/bin/python bench/run.py --cfaudit $(BIN) --folder $(TARGET)/bench $(ARGS)

bench-generation: build $(TARGET)/bench/venv/ready  ## times counterfactuals beside numpy and pandas; ARGS="--data-dir DIR" has adult/adult.parquet
	@$(TARGET)/bench/venv/bin/python bench/generation.py --cfaudit $(BIN) --folder $(TARGET)/bench \
		--memory "$(CARGO) bench --locked --quiet --profile dev --bench memory --" $(ARGS)

bench-metrics: build $(TARGET)/bench/venv/ready  ## times metrics beside polars, duckdb, fairlearn, aif360 and smclarify; ARGS="--rows 1000000" is less
	@$(TARGET)/bench/venv/bin/python bench/metrics.py --cfaudit $(BIN) --folder $(TARGET)/bench $(ARGS)

bench-recourse: $(TARGET)/bench/venv/ready  ## times recourse beside AIF360's detector (minutes; without it: PEER=) and over several supports; DATA=data
	@$(TARGET)/bench/venv/bin/python bench/recourse.py --folder $(TARGET)/bench/recourse --data-dir $(or $(DATA),data) $(PEER) \
		--program "$(CARGO) bench --locked --quiet --profile dev --bench recourse --" $(ARGS)

clean:
	rm -rf outputs/*/ outputs/.cache
