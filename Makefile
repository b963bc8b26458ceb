PYTHON ?= python3
BIN = .venv/bin
ENOUGH = import sys; sys.exit(sys.version_info < (3, 11) and "Keno needs Python 3.11 or newer: make $@ PYTHON=python3.12")

run: .venv/ready
	@exec $(BIN)/python manage.py up $(ARGS)
test: .venv/ready-dev
	$(BIN)/python -m pytest -n $$($(PYTHON) -c 'import os; print(min(6, (os.cpu_count() or 1) + 1))') --dist worksteal $(ARGS)
lint: .venv/ready-dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/djlint --lint --quiet templates
	$(BIN)/python -W ignore manage.py makemigrations --check --dry-run
bench: .venv/ready-dev
	$(BIN)/python -m bench $(ARGS)
messages: .venv/ready-dev
	$(BIN)/python manage.py makemessages --locale es --no-obsolete --no-wrap --no-location --ignore .venv --ignore tests
clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis test-results locale/*/LC_MESSAGES/*.mo
.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c '$(ENOUGH)'
	$(PYTHON) -m venv .venv && $(BIN)/pip install --quiet --constraint constraints.txt . && touch $@
.venv/ready-dev: .venv/ready
	$(BIN)/pip install --quiet --constraint constraints.txt '.[dev]'
	@for b in chromium chromium-browser google-chrome; do command -v $$b && exit; done; $(BIN)/playwright install chromium || true
	@touch $@
.PHONY: run test lint bench messages clean
