PYTHON ?= python3
BIN = .venv/bin
ENOUGH = import sys; sys.exit(sys.version_info < (3, 11) and "Keno needs Python 3.11 or newer: make $@ PYTHON=python3.12")
PIP_OPTIONS = --quiet --disable-pip-version-check --no-compile
# Modules and tests are compiled once, not by every run.
unexport PYTHONDONTWRITEBYTECODE
WORKERS = $$($(PYTHON) -c 'import os; print(min(6, (os.cpu_count() or 1) + 1))')

run: .venv/ready
	@exec $(BIN)/python manage.py up $(ARGS)
test: .venv/ready-dev
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)
test-fast: .venv/ready-dev
	$(BIN)/python -m pytest -m unit -n logical --maxprocesses 6 --dist worksteal $(ARGS)
lint: .venv/ready-dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/djlint --lint --quiet templates
	$(BIN)/python -W ignore manage.py makemigrations --check --dry-run --settings tests.settings
	$(BIN)/python -m tests.types_baseline
bench: .venv/ready-dev
	$(BIN)/python -m bench $(ARGS)
pictures: .venv/ready-dev # of the docs, and the tour of README, from a fresh demo
	$(BIN)/python -m bench.pictures
messages: .venv/ready-dev
	$(BIN)/python manage.py makemessages --locale es --no-obsolete --no-wrap --no-location --ignore .venv --ignore tests
lock: # needs uv; no index address is written
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate pyproject.toml -o requirements.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate --extra dev -c requirements.lock pyproject.toml -o requirements-dev.lock
clean:
	rm -rf .venv .pytest_cache .ruff_cache .mypy_cache .hypothesis test-results locale/*/LC_MESSAGES/*.mo
.venv/ready: pyproject.toml requirements.lock
	@$(PYTHON) -c '$(ENOUGH)'
	$(PYTHON) -m venv .venv && $(BIN)/pip install $(PIP_OPTIONS) --no-deps --require-hashes -r requirements.lock && touch $@
	@nice $(BIN)/python -m compileall -q .venv/lib >/dev/null 2>&1 & # what the start does not load
.venv/ready-dev: .venv/ready requirements-dev.lock
	$(BIN)/pip install $(PIP_OPTIONS) --no-deps --require-hashes -r requirements-dev.lock
	@for b in chromium chromium-browser google-chrome; do command -v $$b && exit; done; $(BIN)/playwright install chromium || true
	@touch $@
.PHONY: run test test-fast lint bench pictures messages lock clean
