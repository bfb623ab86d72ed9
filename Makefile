PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
unexport PYTHONDONTWRITEBYTECODE  # without bytecode on disk, every process would compile the program anew

.PHONY: app test test-fast tests verify lint bench recordings values screenshots clean

app: $(VENV)/.app  ## open the page
	$(BIN)/streamlit run app.py

PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder  # tests/conftest.py has them in order

test: lint tests  ## linters and all tests, two at a time: those in a browser mostly wait

test-fast: $(VENV)/.test  ## the tests that need neither a browser nor many seconds
	$(PYTEST) -m "not browser and not slow" --hypothesis-profile=fast

tests: $(VENV)/.test
	$(PYTEST)

verify: $(VENV)/.test  ## every token of 200 random workloads against transformers
	$(BIN)/python -m pytest tests/engine/test_tokens.py --hypothesis-profile=verify

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.test  ## speed against transformers and against this machine's roofline; the player's frames
	$(BIN)/python -m minibatch bench
	$(BIN)/python -m minibatch bench-player

recordings: $(VENV)/.app  ## make the bundled recordings again, on this machine
	$(BIN)/python -m minibatch record
	$(BIN)/python -m minibatch lesson values

values: $(VENV)/.app  ## compute again what lessons and the interview room ship with
	$(BIN)/python -m minibatch lesson values

screenshots: $(VENV)/.test  ## take the README's pictures again
	$(BIN)/python -m tests.screenshots

$(VENV)/.app: requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q -r requirements.txt
	touch $@

$(VENV)/.test: $(VENV)/.app tests/requirements.txt tests/package-lock.json
	$(BIN)/pip install -q -r tests/requirements.txt
	if command -v npm >/dev/null; then npm ci --prefix tests --silent --no-audit --no-fund; fi
	touch $@

clean:
	rm -rf $(VENV) tests/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis
