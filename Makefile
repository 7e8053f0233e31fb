# SPDX-License-Identifier: MIT
# The commands of daily work. Each sets up what it needs: Debian packages when
# run as root, and virtual environments in .venv, .venv-agreement and .venv-docs.
# Nothing else is touched.
#
#   make test    everything that CI runs on Linux
#   make demo    trains the small networks of examples/python on real data
#   make lint    formatting and static checks
#   make wheel   a wheel in dist/ for every Linux whose C library is new enough
#   make pythons the Python tests on each CPython that is found
#   make docs    the site, in build/docs/html
#   make adding  the examples of docs/adding-an-op.md, built in a copy of the tree
#   make typecheck APPLE_SDK=<path>
#                what a Mac compiles, checked against Apple's headers
#   make oldest-clang
#                what Linux compiles, checked by the oldest clang
#   make aarch64-test
#                the CPU device for aarch64, cross-compiled and run by qemu
#   make aarch64-wheel
#                a wheel for aarch64, made here, that trains and is tested by qemu

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.NOTPARALLEL:

PYTHON ?= python3
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
VENV := $(CURDIR)/.venv
BIN := $(VENV)/bin
# PyTorch, which results are compared with, lives apart from what we ship. 0
# leaves the comparison out.
AGREEMENT ?= 1
AGREEMENT_VENV := $(CURDIR)/.venv-agreement
DOCS_VENV := $(CURDIR)/.venv-docs
# The environment's cmake, ninja and oneDNN before the system's.
export PATH := $(BIN):$(PATH)
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# The environment's pip, for wheels of $(PYTHON).
PYTHON_PATH = "$$(command -v $(PYTHON))"
PIP_FOR = $(BIN)/python -m pip --python $(PYTHON_PATH)
# auditwheel is for Linux.
ifeq ($(shell uname),Linux)
REPAIRED := build/.repaired
endif

# Of the extra `demo`.
DEMO_REQUIREMENTS := $(shell sed -n 's/^demo = \[\(.*\)\]/\1/p' pyproject.toml \
  | tr -d '",')

WHEEL_SOURCES := CMakeLists.txt pyproject.toml LICENSE README.md \
  $(shell find cmake include src metal python -type f -not -name '*.pyc')

.PHONY: test cpp-test python-test agreement-test engine-test package-test \
  newest-onednn check adding demo wheel pythons docs lint format typecheck oldest-clang aarch64-test \
  aarch64-wheel clean distclean

test: check cpp-test python-test agreement-test engine-test package-test newest-onednn

# The examples of docs/adding-an-op.md in a copy of the tree, built and tested.
adding: $(VENV)/.test build/.demo
	tools/setup_machine.sh $(PYTHON) test
	python tools/try_adding.py

check: $(VENV)/.ready
	python tools/check_layers.py
	python tools/check_file_size.py
	python tools/check_sources.py

CONFIGURE_DEV := cmake --preset dev -DPython_EXECUTABLE=$(BIN)/python \
  -DTRAINGRAPH_TEST_CBLAS=ON -DTRAINGRAPH_COMPILE_TOGETHER=ON \
  -DTRAINGRAPH_TEST_SHARDS=4

# The CPU device's suites run on both of its engines; again when what they are made
# of has changed, which documentation and Python are not.
cpp-test: build/.cpp_tested

CPP_SOURCES := CMakeLists.txt CMakePresets.json \
  $(shell find cmake examples/c examples/cpp include metal src tests/c tests/cpp \
    tests/cuda tests/cuda_emulator tests/data tests/emulator tests/fake_mpi tests/fuzz tests/metal_probes -type f)

build/.cpp_tested: $(VENV)/.test tests/CMakeLists.txt tests/package/check_relocation.py \
  $(CPP_SOURCES)
	tools/setup_machine.sh $(PYTHON) test
	$(CONFIGURE_DEV)
	cmake --build --preset dev
	ctest --preset dev
	python tests/package/check_relocation.py build/dev
	touch $@

# Most Python tests keep one core busy. A file's tests stay together: they share
# what its fixtures make.
PYTEST_JOBS := -n $(JOBS) --dist loadfile

# From another folder, so that only the installed package can be imported.
python-test: build/.demo build/.test
	mkdir -p build/pytest
	cd build/pytest && pytest $(PYTEST_JOBS) -c $(CURDIR)/pyproject.toml \
	  -o cache_dir=$(CURDIR)/build/pytest/.cache \
	  --ignore-glob='$(CURDIR)/tests/python/agreement/test_torch_*' \
	  $(CURDIR)/tests/python

# The same layers in PyTorch.
ifeq ($(AGREEMENT),0)
agreement-test:
	@echo "AGREEMENT=0: results are NOT compared with PyTorch."
else
agreement-test: build/.agreement
	mkdir -p build/pytest
	cd build/pytest && $(AGREEMENT_VENV)/bin/python -m pytest $(PYTEST_JOBS) \
	  -c $(CURDIR)/pyproject.toml \
	  -o cache_dir=$(CURDIR)/build/pytest/.cache-agreement \
	  $(CURDIR)/tests/python/agreement/test_torch_*.py
endif

# With the CPU device's other engine: the wheel's extension over the library that
# the dev build links to a CBLAS. What is nearest to numbers, in a minute;
# AGREEMENT=0 ENGINE_TESTS=tests/python runs all that does without PyTorch.
ENGINE_TESTS ?= $(filter-out $(foreach part,benchmarks docs examples onnx,\
    %/test_torch_$(part).py),$(wildcard tests/python/agreement/test_*.py)) \
  $(addprefix tests/python/,mlcompute nodes test_attention.py test_cpu_threads.py \
    test_digits.py test_gather.py test_idle_taps.py test_lstm.py \
    test_optimizers.py test_package.py test_precision.py test_properties.py \
    test_recurrent_layers.py test_recurrent_ops.py test_training.py)
ifeq ($(AGREEMENT),0)
engine-test: build/.test
engine-test: ENGINE_PYTHON := $(BIN)/python
else
engine-test: build/.agreement
engine-test: ENGINE_PYTHON := $(AGREEMENT_VENV)/bin/python
endif
engine-test: $(VENV)/.test
	$(CONFIGURE_DEV)
	cmake --build --preset dev --target traingraph_on_cblas
	mkdir -p build/pytest
	export LD_LIBRARY_PATH=$(CURDIR)/build/dev/cblas; cd build/pytest; \
	$(ENGINE_PYTHON) -c 'import traingraph; \
	  name = traingraph.Device.cpu().name; print(name); assert "oneDNN" not in name'; \
	$(ENGINE_PYTHON) -m pytest $(PYTEST_JOBS) -c $(CURDIR)/pyproject.toml \
	  -o cache_dir=$(CURDIR)/build/pytest/.cache-engine \
	  $(addprefix $(CURDIR)/,$(ENGINE_TESTS))

# C++ programs that find the library in the installed wheel, the digits network in
# both languages, and the wheel as others get it.
package-test: build/.demo $(REPAIRED)
	root=$$(cd / && python -m traingraph --cmake-dir); \
	for project in tests/package tests/interop examples/cpp examples/c \
	  examples/interop; do \
	  cmake -S $$project -B build/$$project -G Ninja -Dtraingraph_DIR=$$root \
	    -DPython_EXECUTABLE=$(BIN)/python; \
	  cmake --build build/$$project; \
	  ctest --test-dir build/$$project --output-on-failure; \
	done
	python tests/package/compare_digits.py build/examples/cpp/example_digits \
	  build/examples/c/c_digits
ifdef REPAIRED
	python tests/package/check_wheel.py build/repaired/*.whl
	python tests/package/check_relocation.py build/repaired/*.whl
	python tools/check_wheel_config.py
endif

# src/cpu keeps to API that all of oneDNN 3.x has.
newest-onednn: build/.newest_onednn

build/.newest_onednn: $(VENV)/.ready tools/check_newest_onednn.py \
  $(shell find src/cpu -type f)
	python tools/check_newest_onednn.py
	mkdir -p build && touch $@

# With both compilers, for the oldest macOS. The SDK is a folder MacOSX*.sdk.
typecheck: $(VENV)/.ready
	@test -n "$(APPLE_SDK)" \
	  || { echo "Give the path of a macOS SDK: make typecheck APPLE_SDK=<path>" >&2; \
	    exit 1; }
	tools/setup_machine.sh $(PYTHON) typecheck
	cmake --preset metal-typecheck -DAPPLE_SDK=$(APPLE_SDK) \
	  -DPython_EXECUTABLE=$(BIN)/python
	cmake --build --preset metal-typecheck

# Not a part of `make test`: it takes as long as compiling.
oldest-clang: $(VENV)/.ready
	tools/setup_machine.sh $(PYTHON) typecheck
	cmake --preset oldest-clang -DPython_EXECUTABLE=$(BIN)/python
	cmake --build --preset oldest-clang

# Nor this one. The suites of the CPU device and of ops, with OpenBLAS's wheel for
# aarch64; what they say about time says nothing.
aarch64-test: build/aarch64-packages/.ready
	tools/setup_machine.sh $(PYTHON) aarch64
	cmake --preset aarch64 -DPython_EXECUTABLE=$(BIN)/python \
	  -DTRAINGRAPH_TARGET_PACKAGES=$(CURDIR)/$(<D)
	cmake --build --preset aarch64
	ctest --preset aarch64

# Nor this one, with Debian's Python for aarch64, of the version that $(PYTHON) has.
# Compiled as for aarch64-test, and so by ccache once for both.
PYTHON_VERSION = $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
AARCH64_ROOT := $(CURDIR)/build/aarch64-root
AARCH64_PYTHON = qemu-aarch64 -cpu cortex-a72 -U OPENBLAS_CORETYPE,OPENBLAS_L2_SIZE \
  -L $(AARCH64_ROOT) $(AARCH64_ROOT)/usr/bin/python$(PYTHON_VERSION)
# What starts no other interpreter, which the emulator would not run.
AARCH64_TESTS ?= $(addprefix tests/python/,test_gather.py test_graph.py test_lstm.py \
  test_recurrent_layers.py test_training.py test_types.py)

aarch64-wheel: build/aarch64-packages/.ready build/aarch64-root/.ready $(VENV)/.release
	rm -rf build/aarch64-dist build/aarch64-repaired
	CXXFLAGS="-Wall -Wextra -Werror -idirafter $(AARCH64_ROOT)/usr/include" \
	_PYTHON_HOST_PLATFORM=linux-aarch64 pip wheel . --quiet --no-deps \
	  --no-build-isolation --wheel-dir build/aarch64-dist \
	  -C build-dir=build/aarch64-extension -C cmake.build-type=RelWithDebInfo \
	  -C cmake.define.CMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 \
	  -C cmake.define.TRAINGRAPH_QUICK_BUILD=ON \
	  -C cmake.define.CMAKE_TOOLCHAIN_FILE=$(CURDIR)/cmake/aarch64-linux.cmake \
	  -C cmake.define.TRAINGRAPH_TARGET_PACKAGES=$(CURDIR)/$(<D) \
	  -C cmake.define.Python_INCLUDE_DIR=$(AARCH64_ROOT)/usr/include/python$(PYTHON_VERSION) \
	  -C cmake.define.PYTHON_MODULE_DEBUG_POSTFIX= -C cmake.define.PYTHON_IS_DEBUG=OFF \
	  -C cmake.define.PYTHON_MODULE_EXTENSION=.cpython-$(subst .,,$(PYTHON_VERSION))-aarch64-linux-gnu.so
	python tools/repair_wheel.py build/aarch64-dist/*.whl build/aarch64-repaired
	site=$(AARCH64_ROOT)/usr/lib/python3/dist-packages; rm -rf $$site/traingraph*; \
	python -m zipfile -e build/aarch64-repaired/*.whl $$site
	mkdir -p build/pytest && cd build/pytest && $(AARCH64_PYTHON) -m pytest \
	  -c $(CURDIR)/pyproject.toml -o cache_dir=$(CURDIR)/build/pytest/.cache-aarch64 \
	  $(addprefix $(CURDIR)/,$(AARCH64_TESTS))
	$(AARCH64_PYTHON) examples/python/digits.py --epochs 2 --out build/aarch64-digits

build/aarch64-root/.ready: $(VENV)/.ready tools/aarch64_root.sh
	tools/setup_machine.sh $(PYTHON) aarch64
	rm -rf $(@D)
	tools/aarch64_root.sh $(@D) $(PYTHON_VERSION) numpy pytest hypothesis \
	  $(DEMO_REQUIREMENTS)
	touch $@

build/aarch64-packages/.ready: $(VENV)/.ready tools/requirements-test.txt
	rm -rf $(@D)
	$(BIN)/python -m pip install --quiet --no-deps --only-binary=:all: \
	  --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 \
	  --target $(@D) -r tools/requirements-test.txt
	touch $@

# With the package that tests made, if there is one; else with one for this machine
# alone, of which there is less to compile.
DEMO_PACKAGE := $(if $(wildcard build/.installed),build/.demo,build/.quick)
EXAMPLES := digits vision_transformer characters vector_quantization filter_nodes

demo: $(DEMO_PACKAGE)
	set -e; for example in $(EXAMPLES); do \
	  python examples/python/$$example.py; \
	done

# Built in isolation, as pip does it for users; PYTHON=... for another interpreter.
wheel: $(VENV)/.release
	rm -rf build/unrepaired build/release
	$(PIP_FOR) wheel . --no-deps --wheel-dir build/unrepaired
ifdef REPAIRED
	python tools/repair_wheel.py build/unrepaired/*.whl build/release
	python tests/package/check_wheel.py build/release/*.whl --python $(PYTHON_PATH)
else
	cp -r build/unrepaired build/release
endif
	mkdir -p dist && cp build/release/*.whl dist

# The Python tests on a wheel for each python3.10 to python3.14 of PATH, or for those
# of PYTHONS="...", with nothing but NumPy and pytest beside it.
pythons: $(VENV)/.ready
	python tools/check_pythons.py --quick $(PYTHONS)

# Warnings (links that lead nowhere, headers on no page) are errors; code blocks run in
# python-test. NOTEBOOKS=0 does not run the examples, and needs neither a compiler nor
# the library: their pages are without outputs, the gallery without pictures.
NOTEBOOKS ?= 1

docs: $(DOCS_VENV)/.ready build/notebooks/.ready-$(NOTEBOOKS)
	rm -rf build/docs
	$(DOCS_VENV)/bin/sphinx-build --quiet --builder html --fail-on-warning \
	  --keep-going --doctree-dir build/docs/doctrees docs build/docs/html
	@echo "file://$(CURDIR)/build/docs/html/index.html"

build/notebooks/.ready-0: $(DOCS_VENV)/.ready
	$(DOCS_VENV)/bin/python tools/make_notebooks.py --no-run build/notebooks $(EXAMPLES)
	rm -f $(@D)/.ready-1

# With the package that `make demo` takes.
build/notebooks/.ready-1: $(DEMO_PACKAGE) tools/make_notebooks.py \
  tools/requirements-notebooks.txt $(wildcard examples/python/*.py)
	pip install --quiet -r tools/requirements-notebooks.txt
	python tools/make_notebooks.py build/notebooks $(EXAMPLES)
	touch $@

$(DOCS_VENV)/.ready: tools/requirements-docs.txt tools/requirements-notebooks.txt
	$(PYTHON) -c 'import sys; sys.exit("Sphinx needs Python 3.11 or newer: make docs PYTHON=..." if sys.version_info < (3, 11) else 0)'
	test -x $(DOCS_VENV)/bin/python || $(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_VENV)/bin/python -m pip install --quiet -r tools/requirements-docs.txt \
	  -r tools/requirements-notebooks.txt
	touch $@

lint: $(VENV)/.lint check
	git ls-files -co --exclude-standard '*.h' '*.cpp' '*.mm' \
	  | xargs clang-format --dry-run --Werror
	ruff check .
	ruff format --check .
	mypy
	codespell

format: $(VENV)/.lint
	git ls-files -co --exclude-standard '*.h' '*.cpp' '*.mm' \
	  | xargs clang-format -i
	ruff check --fix .
	ruff format .

clean:
	rm -rf build dist

distclean: clean
	rm -rf $(VENV) $(AGREEMENT_VENV) $(DOCS_VENV)

$(VENV)/.ready: tools/setup_machine.sh tools/requirements.txt
	tools/setup_machine.sh $(PYTHON)
	$(PYTHON) -c 'import sys; sys.exit("Python 3.10 or newer is needed: make PYTHON=..." if sys.version_info < (3, 10) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile -r tools/requirements.txt
	touch $@

$(VENV)/.test: $(VENV)/.ready tools/requirements-test.txt
	pip install --quiet -r tools/requirements-test.txt
	touch $@

$(VENV)/.lint: $(VENV)/.ready tools/requirements-lint.txt
	pip install --quiet -r tools/requirements-lint.txt
	touch $@

$(VENV)/.release: $(VENV)/.ready tools/requirements-release.txt
	pip install --quiet -r tools/requirements-release.txt
	touch $@

build/.repaired: build/.installed $(VENV)/.release tools/repair_wheel.py
	rm -rf build/repaired
	python tools/repair_wheel.py build/dist/*.whl build/repaired
	touch $@

# The environment holds all build requirements, so that the build folder stays
# valid from one run to the next; `make wheel` builds in isolation.
build/.installed: $(VENV)/.ready $(WHEEL_SOURCES)
	rm -rf build/dist
	pip wheel . --quiet --no-deps --no-build-isolation --wheel-dir build/dist \
	  -C build-dir=build/wheel
	pip install --quiet --force-reinstall --no-deps build/dist/*.whl
	pip install --quiet build/dist/*.whl
	touch $@

$(AGREEMENT_VENV)/.ready: $(VENV)/.ready tools/requirements-agreement.txt
	$(BIN)/python -m venv $(AGREEMENT_VENV)
	$(AGREEMENT_VENV)/bin/python -m pip install --quiet \
	  -r tools/requirements-agreement.txt \
	  && $(AGREEMENT_VENV)/bin/python -c 'import torch' \
	  || { echo "PyTorch, which results are compared with, cannot be installed" \
	    "(tools/requirements-agreement.txt). 'make test AGREEMENT=0' goes without" \
	    "the comparison." >&2; exit 1; }
	touch $@

build/.agreement: build/.installed $(AGREEMENT_VENV)/.ready
	$(AGREEMENT_VENV)/bin/python -m pip install --quiet --force-reinstall --no-deps \
	  build/dist/*.whl
	touch $@

# Not for measuring: it is optimised less. Meanwhile pip fetches what the examples
# import; of that only what they do import is compiled to byte code.
build/.quick: $(VENV)/.ready $(WHEEL_SOURCES)
	{ pip install --quiet --no-compile numpy $(DEMO_REQUIREMENTS) \
	  && PYTHONDONTWRITEBYTECODE= python -c \
	    'import matplotlib.pyplot, sklearn.datasets'; } & \
	pip install . --quiet --force-reinstall --no-deps --no-build-isolation \
	  -C build-dir=build/quick -C cmake.define.TRAINGRAPH_QUICK_BUILD=ON \
	  && wait $$!
	touch $@

# What only the examples or only the tests import.
build/.demo build/.test: build/.installed
	wheel=$$(ls build/dist/*.whl) && pip install --quiet "$$wheel[$(@:build/.%=%)]"
	touch $@
