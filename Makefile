# cfaudit: `make run` and `make test` work on a fresh machine with Rust and a C compiler; `make help` lists the rest.

include .ci/common.mk

JOB ?= demo.yaml
# A name may hold blanks, which make takes for separators.
SPACE := $(subst ,, )
JOB_FILE = "$(if $(wildcard $(subst $(SPACE),\ ,$(JOB))),$(JOB),jobs/$(JOB))"
ARGS ?=
KILLS ?= 200
AXE_JOBS ?= demo adult adult-recourse compas compas-graph
# Unit tests are compiled with all checks; integration tests ask the program that `make run` builds. `make test` compiles the former while
# the latter run: the second cargo waits for the first one's lock, which cargo holds until it runs what it has built.
SCRATCH := $(shell tests/scratch.sh)
UNIT = $(SCRATCH) $(CARGO) test --locked $(FEATURES) --lib
WHOLE = $(SCRATCH) $(CARGO) test --locked $(FEATURES) --profile dev --test it
AIRFLOW = CFAUDIT_AIRFLOW=$(TARGET)/airflow/venv/bin/airflow
MODELS = CFAUDIT_PYTHON=$(TARGET)/python/venv/bin/python
CLUSTER = CFAUDIT_PYTHON=$(TARGET)/cluster/venv/bin/python VIRTUAL_ENV=$(TARGET)/cluster/venv PATH=$(TARGET)/cluster/venv/bin:"$$PATH"
DVC = CFAUDIT_DVC=$(TARGET)/dvc/venv/bin/dvc

.DEFAULT_GOAL := build
.PHONY: help tools run check diff test test-slow bare cloud airflow cluster dvc papers python kills fuzz axe lint lint-tools deny schema count golden clean bench dist dist-test image

help:             ## this list
	@cat $(MAKEFILE_LIST) bench/Makefile tests/packages/Makefile | sed -n 's/^\([a-z][a-z-]*\):[^#]*## */\1\t/p' | expand -t 18

tools:            ## finds CMake and libclang, which LightGBM needs to compile, or fetches them into .tools/
	@.ci/tools

run: build        ## make run JOB=adult.yaml: runs jobs/adult.yaml, results in outputs/<name of the job>/
	@$(BIN) run $(JOB_FILE) $(ARGS)

check: build      ## make check JOB=adult.yaml: all problems of a job, each with file, line and hint
	@$(BIN) check $(JOB_FILE) $(ARGS)

diff: build       ## make diff A=outputs/old B=outputs/new: what has changed, and whether it is more than chance; ARGS="--out DIR" writes a page
	@$(BIN) diff $(if $(A),"$(A)") $(if $(B),"$(B)") $(ARGS)

test: .tools/env   ## unit and integration tests that take seconds; the last line gives the number of skipped tests and the reasons
	@rm -f $(TARGET)/skipped.txt
	$(ENV) { $(WHOLE) & whole=$$!; sleep 1; $(UNIT) --no-run; wait $$whole; status=$$?; $(UNIT) || status=$$?; }; \
	tests/skipped.sh $(TARGET)/skipped.txt; exit $$status

test-slow: $(TARGET)/airflow/ready $(TARGET)/cluster/ready $(TARGET)/dvc/ready bare cloud kills  ## tests that take minutes: long runs, 200 kills, the real Airflow, dvc, Spark and Ray (downloaded)
	@rm -f $(TARGET)/skipped.txt
	$(ENV) $(UNIT) --profile dev -- --ignored && $(AIRFLOW) $(CLUSTER) $(DVC) $(WHOLE) -- --ignored; status=$$?; tests/skipped.sh $(TARGET)/skipped.txt; exit $$status

bare: .tools/env  ## checks that it compiles without LightGBM and ONNX
	$(ENV) $(CARGO) check --locked --no-default-features --bins

cloud: .tools/env  ## builds with the feature `cloud` and runs its tests: rows and scores in object stores, against a small S3 server
	$(ENV) $(UNIT) --features cloud -- object && $(WHOLE) --features cloud -- object

airflow: $(TARGET)/airflow/ready .tools/env  ## tests the recipes of jobs/recipes/ under the real Airflow, downloaded into target/airflow (300 MB)
	$(ENV) $(AIRFLOW) $(WHOLE) -- --include-ignored --nocapture schedule:: recipes::with_airflow

cluster: $(TARGET)/cluster/ready .tools/env  ## tests shards and their recipes under the real Spark and Ray, downloaded into target/cluster (700 MB; Spark needs Java 17)
	@rm -f $(TARGET)/skipped.txt
	$(ENV) $(CLUSTER) $(WHOLE) -- --include-ignored --nocapture clusters recipes::with_kubernetes && tests/skipped.sh $(TARGET)/skipped.txt && test ! -s $(TARGET)/skipped.txt

dvc: $(TARGET)/dvc/ready .tools/env  ## tests summary.json under the real dvc, downloaded into target/dvc
	$(ENV) $(DVC) $(WHOLE) -- --include-ignored --nocapture dvc

python: $(TARGET)/python/ready .tools/env  ## tests the Python package and Python models with the real scikit-learn, LightGBM, XGBoost, pytest and MLflow, downloaded into target/python
	$(ENV) $(MODELS) $(WHOLE) -- --nocapture python

papers: build $(TARGET)/papers/ready  ## runs the experiments of five papers (25 minutes), writes docs/papers and checks 40 of its lines (DRAW="40 --seed 7"); DOUBT=1 trains networks and trees five more times (hours)
	@PATH=$(TARGET)/papers/venv/bin:"$$PATH" python3 jobs/papers/papers.py --cfaudit $(BIN) $(if $(DOUBT),--doubt) $(ARGS)
	@$(if $(DOUBT),:,$(TARGET)/papers/venv/bin/python jobs/papers/draw.py $(DRAW))

kills: .tools/env  ## kills runs, shards and other verbs at 200 random moments and checks that the bytes are the same in the end; KILLS=1000 for more
	$(ENV) CFAUDIT_KILLS=$(KILLS) $(WHOLE) -- --nocapture killed_at_any_moment

fuzz: .tools/env  ## make fuzz MINUTES=10: feeds mutated jobs, expressions, rows, streams, answers, states and folders, 10 minutes each; `make test` runs a fixed few thousand
	$(ENV) CFAUDIT_FUZZ_MINUTES=$(or $(MINUTES),10) $(WHOLE) -- --nocapture --test-threads 1 fuzz::

$(TARGET)/axe/ready: tests/axe/package.json tests/axe/package-lock.json
	@mkdir -p $(@D)
	@cp $^ $(@D)/
	@cd $(@D) && npm ci --silent --no-audit --no-fund
	@touch $@

axe: build $(TARGET)/axe/ready    ## checks pages with axe-core in Chromium: WCAG A and AA on screen, phone, paper; ARGS="--shots DIR" saves screenshots
	@for job in $(AXE_JOBS); do $(BIN) run jobs/$$job.yaml --gates report --quiet --out $(TARGET)/axe/out/$$job || exit; done
	@node tests/axe/check.mjs --modules $(TARGET)/axe $(ARGS) $(foreach job,$(AXE_JOBS),$(TARGET)/axe/out/$(job)/report.html $(TARGET)/axe/out/$(job)/annex.html)

lint: .tools/env   ## checks formatting and clippy; warnings are errors
	$(CARGO) fmt --check
	$(ENV) $(CARGO) clippy --locked --all-targets $(FEATURES) -- -D warnings

lint-tools: $(TARGET)/lint/ready  ## downloads cargo-deny and hadolint into target/lint

deny: lint-tools .tools/env  ## checks licences, sources and duplicates of crates (deny.toml), and Containerfile with hadolint
	$(ENV) $(TARGET)/lint/venv/bin/cargo-deny --locked check licenses bans sources
	$(TARGET)/lint/venv/bin/hadolint Containerfile

schema: build     ## regenerates schemas/ from the types
	@$(BIN) schema job > schemas/job.schema.json
	@$(BIN) schema manifest > schemas/manifest.schema.json
	@$(BIN) schema summary > schemas/summary.schema.json

count: .tools/env   ## prints lines of code, templates and tests by module, and words of documents, next to the budget that a test holds
	$(ENV) $(WHOLE) -- --nocapture the_tree_stays_within_its_budget

golden: .tools/env  ## rewrites the expected texts of the tests; review the diff before you commit it
	$(ENV) export CFAUDIT_BLESS=1; $(UNIT) && $(WHOLE)

FORWARD = +@$(MAKE) --no-print-directory -f
bench:; $(FORWARD) bench/Makefile $@
bench-%:; $(FORWARD) bench/Makefile $@
dist dist-test image:; $(FORWARD) tests/packages/Makefile $@

clean:            ## removes output folders and the cache
	rm -rf outputs/*/ outputs/.cache
