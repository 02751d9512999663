# Two commands do everything, set-up included: make demo, make test. What takes long by its nature
# (examples, the site, kills, large budgets) is in make test-all.
PYTHON ?= python3
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test test-all ready lint browser gl bench arena clean

demo: .venv/demo
	$(BIN)/platypoos demo --out out

test: lint browser gl ready
	$(BIN)/pytest -n 2 -m "not slow"

test-all: lint browser gl ready
	$(BIN)/pytest -n 2

# Machine code that tests need, compiled once: else each of pytest's processes would compile it.
ready: .venv/test
	$(BIN)/python tests/fill_cache.py

# The report is tried in a real browser.
browser:
	@command -v chromium > /dev/null || { apt-get update -qq; \
	  apt-get install -y -qq chromium chromium-driver > /dev/null; } \
	  || echo "Chromium could not be installed: the report is not tried in a browser"

# Without a screen, MuJoCo draws its pictures with EGL.
gl: .venv/test
	@$(BIN)/python -c "import ctypes.util as u, sys; sys.exit(not u.find_library('EGL'))" \
	  || { apt-get update -qq; apt-get install -y -qq libegl1 libgl1-mesa-dri > /dev/null; } \
	  || echo "EGL could not be installed: MuJoCo's pictures are not compared"

lint: .venv/test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/test
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/planners.py
	$(BIN)/python benchmarks/experiments.py
	$(BIN)/python benchmarks/overhead.py

# Has a planner become worse? Before a change of a planner lands; some minutes.
arena: .venv/test
	$(BIN)/platypoos arena --quick --against docs/results/arena-baseline.csv \
	  --page docs/results/arena.md --out out/gate

# The site, in out/site/index.html. Tutorials are run; a warning is an error.
.PHONY: docs
docs: .venv/docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs out/site
	@echo "open out/site/index.html"

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/demo: pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --editable '.[demo]'
	touch $@

.venv/test: pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --editable '.[test]'
	touch $@

.venv/docs: pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --editable '.[docs]'
	touch $@

clean:
	rm -rf .venv out build dist
