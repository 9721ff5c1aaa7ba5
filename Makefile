PYTHON ?= python3
BIN = .venv/bin

.PHONY: app test lint bench bench-ui models clean

app: .venv/app            ## set up and open the app
	$(BIN)/streamlit run app.py

test: .venv/dev browser   ## set up and pass the tests
	$(BIN)/python -m pytest

lint: .venv/dev           ## style and format
	$(BIN)/ruff check . && $(BIN)/ruff format --check .

bench: .venv/dev browser  ## every figure of speed the README states
	for script in explorer tracing training browser views visitors; do $(BIN)/python benchmarks/$$script.py || exit 1; done

bench-ui: .venv/dev browser  ## the views alone and beside BertViz, which is fetched: make bench-ui ARGS=--all
	$(BIN)/python benchmarks/views.py && $(BIN)/python benchmarks/beside_bertviz.py $(ARGS)

models: .venv/app         ## train every model of the shelf: make models DATA=folder
	sh models/train.sh $(DATA)

clean:                    ## forget the environment
	rm -rf .venv

.venv/app: requirements.txt
	$(PYTHON) -m venv .venv && $(BIN)/python -m pip install -q -r requirements.txt && touch $@

.venv/dev: requirements.txt requirements-dev.txt
	$(PYTHON) -m venv .venv && $(BIN)/python -m pip install -q -r requirements-dev.txt && touch $@ .venv/app

.PHONY: browser
browser:                  ## Debian's Chromium and CJK font, where they are missing and may be installed
	sh tests/install_browser.sh
