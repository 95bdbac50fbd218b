# Needs make and Python 3.11 or later; all else is installed into .venv when it is
# missing, and again when the requirements change. Another interpreter, which makes the
# environment anew where it is another version's:
#     make test PYTHON=python3.12
# Tests run in as many processes as there are cores. Arguments for pytest, for instance
# one folder in one process:
#     make test PYTEST_ARGS="tests/mohn -n 0"

PYTHON ?= python3
# numba's floor has no build for an interpreter later than 3.12.
PYTHON_MINIMUM ?= python3.11
PYTEST := -m pytest --numprocesses auto --dist worksteal
PYTEST_ARGS ?=
FUZZ_SECONDS ?= 600
# Of each test, instead of a time: the same ones on every machine.
FUZZ_EXAMPLES ?= 0
# Different examples every time; a failure names its own.
FUZZ_SEED ?= $(shell date +%s)
MUTANTS_ARGS ?=
BASE ?= HEAD
ASV_ARGS ?= run --python=same --quick
# Of scikit-learn, for test-common.
SKLEARN ?= 1.8
# Plain Python is slow: of each family the files that take at most ten seconds, and those
# of its kernels, but for the longest tests.
UNCOMPILED := $(addprefix tests/, core/test_elimination.py core/test_uncompiled.py \
	core/test_walsh.py datasets blm/test_codec.py blm/test_curriculum.py \
	blm/test_network.py blm/test_policy.py blm/test_published_peers.py \
	blm/test_traces.py blm/test_local_search.py \
	energynet/test_coding.py energynet/test_kernels.py mohn/test_active_set.py \
	mohn/test_coding.py mohn/test_gp_noise.py mohn/test_gp_posterior.py \
	mohn/test_gp_variance.py mohn/test_from_terms.py mohn/test_frontier.py \
	mohn/test_html.py mohn/test_importances.py mohn/test_kernels.py \
	mohn/test_learning.py mohn/test_logistic.py optimize/test_bad_input.py \
	optimize/test_climbs.py optimize/test_gp_models.py \
	optimize/test_polynomial.py optimize/test_space.py) \
	--deselect tests/energynet/test_kernels.py::test_draws_are_uniform_and_independent \
	--deselect tests/datasets/test_optimum.py::test_twenty_variables_are_always_solved
DIST ?= dist

VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
REQUIREMENTS := pyproject.toml skmohn/__init__.py
NOT_INSTALLED := echo "pip could not install what this needs. Is PyPI in reach? Another \
	index can be named: PIP_INDEX_URL=https://... make" >&2; exit 1;

# Environments stay when their stamps are made on the way to others.
.SECONDARY:

# Two pips must not install into one environment at a time: make -j gains nothing here.
.NOTPARALLEL:

.PHONY: help demo demo-all test test-slow test-docs fuzz mutants lint types docs papers linkcheck test-minimum clean
.PHONY: coverage dist test-common test-uncompiled golden asv always

help:
	@echo "make demo          which settings interact, and what to try next, with a picture (a minute)"
	@echo "make demo-all      the same, and a tour of the rest (two minutes and a half)"
	@echo "make test          tests and doctests"
	@echo "make test-slow     statistical tests, which take long"
	@echo "make test-docs     the code on the pages of the documentation"
	@echo "make coverage      the same as make test, and the lines that no test reaches"
	@echo "make fuzz          fuzzing of the public API with odd data (ten minutes)"
	@echo "make mutants       mutation testing: mutants that survive the tests"
	@echo "make lint          ruff and codespell"
	@echo "make types         pyright"
	@echo "make docs          the documentation, in docs/_build/html"
	@echo "make papers        every table and figure of the papers, briefly"
	@echo "make golden        fits that differ from those of the commit BASE=HEAD or another"
	@echo "make asv           time and memory of small fits and kernels, by asv"
	@echo "make linkcheck     the documentation, and a check of its links"
	@echo "make test-minimum  the tests on the oldest supported dependencies"
	@echo "make test-common   scikit-learn's estimator checks, with its version SKLEARN=1.8 or another"
	@echo "make test-uncompiled  some tests of each family with NUMBA_DISABLE_JIT=1"
	@echo "make dist          wheel and sdist, in dist"
	@echo "make clean         remove what the above have created"

demo: $(VENV)/installed-demo
	$(BIN)/python examples/demo.py

demo-all: demo
	$(BIN)/python examples/tour.py

test: $(VENV)/installed-test
	$(BIN)/python $(PYTEST) $(PYTEST_ARGS)

test-slow: $(VENV)/installed-test
	$(BIN)/python $(PYTEST) -m slow $(PYTEST_ARGS)

test-docs: $(VENV)/installed-test $(VENV)/installed-howto
	$(BIN)/python $(PYTEST) docs $(PYTEST_ARGS)

# Its summary can be printed again: .venv/bin/coverage report
coverage: $(VENV)/installed-test
	$(BIN)/python $(PYTEST) --cov --cov-report=term:skip-covered $(PYTEST_ARGS)

fuzz: $(VENV)/installed-test
	$(BIN)/python $(PYTEST) tests/fuzz --fuzz-seconds=$(FUZZ_SECONDS) \
		--fuzz-examples=$(FUZZ_EXAMPLES) --fuzz-seed=$(FUZZ_SEED) $(PYTEST_ARGS)

mutants: $(VENV)/installed-test
	$(BIN)/python tests/mutants $(MUTANTS_ARGS)

lint: $(VENV)/installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell

types: $(VENV)/installed-lint $(VENV)/installed-test
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	$(BIN)/mypy

docs: $(VENV)/installed-docs
	rm -rf docs/auto_examples docs/generated
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build/html
	$(BIN)/python docs/check.py docs/_build/html
	@echo "Open docs/_build/html/index.html"

papers: $(VENV)/installed-bench
	$(BIN)/python -m benchmarks.papers --quick

# Which fits are not what they were at another commit: make golden BASE=main
golden: $(VENV)/installed-test
	rm -rf build/golden && mkdir -p build/golden
	git archive $(BASE) skmohn tests/golden.py | tar -x -C build/golden
	$(BIN)/python build/golden/tests/golden.py record build/golden.npz
	$(BIN)/python tests/golden.py compare build/golden.npz

# Two commits: make asv ASV_ARGS="continuous HEAD~1 HEAD"
asv: $(VENV)/installed-bench
	cd benchmarks/asv && ../../$(BIN)/asv machine --yes && ../../$(BIN)/asv $(ASV_ARGS)

# Links between pages are checked by docs/check.py; these lead out of them.
linkcheck: docs
	@if $(BIN)/python -c \
		"import socket; socket.create_connection(('docs.python.org', 443), 5)" 2>/dev/null; \
	then $(BIN)/sphinx-build -b linkcheck -D plot_gallery=0 -q docs docs/_build/linkcheck; \
	else echo "No network: links to other sites are not checked."; fi

test-minimum: $(VENV)-minimum/installed
	$(VENV)-minimum/bin/python $(PYTEST) $(PYTEST_ARGS)

test-common: $(VENV)-sklearn-$(SKLEARN)/installed
	$(VENV)-sklearn-$(SKLEARN)/bin/python $(PYTEST) tests/test_common.py $(PYTEST_ARGS)

test-uncompiled: $(VENV)/installed-test
	NUMBA_DISABLE_JIT=1 $(BIN)/python $(PYTEST) $(UNCOMPILED) $(PYTEST_ARGS)

dist: $(VENV)/installed-build
	rm -rf $(DIST)
	$(BIN)/python -m build --outdir $(DIST) .
	$(BIN)/twine check --strict $(DIST)/*

clean:
	rm -rf .venv .venv-asv .venv-minimum .venv-sklearn-* build dist .pytest_cache .ruff_cache .hypothesis .coverage
	rm -rf docs/_build docs/auto_examples docs/generated
	find . -name __pycache__ -prune -exec rm -rf {} +

# One stamp for each group of pyproject.toml: installed again when the requirements are
# newer. SKMOHN is the package with the extras that go with the group.
$(VENV)/installed-%: SKMOHN = --editable ".[all]"
$(VENV)/installed-%: GROUP = --group $*
# The demo is for users: it needs what they install.
$(VENV)/installed-demo: SKMOHN = --editable ".[plot,frames]"
$(VENV)/installed-demo: GROUP =
# These read the sources alone.
$(VENV)/installed-lint $(VENV)/installed-build: SKMOHN =

$(VENV)/installed-%: $(REQUIREMENTS) $(VENV)/made
	@echo 'Installing into $(@D): $(strip $(SKMOHN) $(GROUP))'
	@$(BIN)/python $(PIP_INSTALL) $(SKMOHN) $(GROUP) || { $(NOT_INSTALLED) }
	@touch $@

$(VENV)-minimum/installed: $(REQUIREMENTS) constraints-minimum.txt $(VENV)-minimum/made
	@echo "Installing into $(@D): skmohn and the oldest packages that it works with"
	@$(VENV)-minimum/bin/python $(PIP_INSTALL) \
		--constraint constraints-minimum.txt --editable ".[all]" --group test || { $(NOT_INSTALLED) }
	@touch $@

$(VENV)-sklearn-$(SKLEARN)/installed: $(REQUIREMENTS) $(VENV)-sklearn-$(SKLEARN)/made
	@echo "Installing into $(@D): skmohn with scikit-learn $(SKLEARN)"
	@$(VENV)-sklearn-$(SKLEARN)/bin/python $(PIP_INSTALL) \
		--editable ".[all]" --group test "scikit-learn==$(SKLEARN).*" || { $(NOT_INSTALLED) }
	@touch $@

%/made: CHOICE = PYTHON
$(VENV)-minimum/made: CHOICE = PYTHON_MINIMUM
INTERPRETER = $($(CHOICE))
MINOR := -c "import sys; print(sys.version_info[1])"
# Whether it is there, and of the version that was named, if one was.
IS_MADE = [ -e $@ ] && { [ "$(origin $(CHOICE))" = file ] || \
	[ "$$($(@D)/bin/python $(MINOR))" = "$$($(INTERPRETER) $(MINOR))" ]; }

# Looked at each time: what is installed is older than an environment that is made anew,
# and only than that. Groups need pip 25.1; Python 3.11 to 3.13 bring older ones.
%/made: always
	@$(IS_MADE) || { \
		$(INTERPRETER) -c "import sys; sys.exit(sys.version_info < (3, 11))" || { \
			echo "skmohn needs Python 3.11 or later, and '$(INTERPRETER)' is not that." \
				"Name one that is, for instance: make PYTHON=python3.12" >&2; exit 1; }; \
		echo "Making $(@D) with $(INTERPRETER)"; \
		$(INTERPRETER) -m venv --clear $(@D) || exit 1; \
		$(@D)/bin/python $(PIP_INSTALL) "pip>=25.1" || { $(NOT_INSTALLED) }; \
		touch $@; }
