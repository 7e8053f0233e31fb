// SPDX-License-Identifier: MIT
// A C++ program that embeds an interpreter: graphs, device and queue are shared
// with what Python built, from threads of both, and outlive the interpreter.
#include <pybind11/embed.h>
#include <pybind11/stl.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "traingraph/python_casters.h"
#include "traingraph/traingraph.h"

namespace py = pybind11;
namespace tg = traingraph;

namespace {

constexpr int kBatch = 4, kFeatures = 3;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::exit(1);
}

struct Data {
  std::vector<float> x = std::vector<float>(kBatch * kFeatures, 0.5f);
  std::vector<float> y = std::vector<float>(kBatch, 1.0f);
  float step(tg::TrainingGraph& training) const {
    return training
        .execute({{"x", tg::TensorData(x)}}, {{"y", tg::TensorData(y)}})
        .result()
        .loss();
  }
};

constexpr const char* kBuild = R"(
import numpy as np
import traingraph as tg

def build(batch, features):
    x = tg.Tensor((batch, features), name="x")
    y = tg.Tensor((batch, 1), name="y")
    graph = tg.Graph()
    graph.node(tg.layers.FullyConnected(features, 1), x)
    training = tg.TrainingGraph(
        [graph], tg.losses.MeanSquaredError(), tg.optimizers.SGD(0.1))
    training.add_inputs({"x": x}, {"y": y})
    training.compile("cpu")
    return training

def steps(training, count):
    x = np.full((4, 3), 0.5, np.float32)
    y = np.ones((4, 1), np.float32)
    return [training.execute({"x": x}, {"y": y}).result().loss
            for _ in range(count)]
)";

/// Files that are mapped and whose name has `part` in it.
std::set<std::string> mapped(const std::string& part) {
  std::ifstream maps("/proc/self/maps");
  std::set<std::string> files;
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find('/');
    if (path == std::string::npos) continue;
    if (line.find(part, path) != std::string::npos) {
      files.insert(line.substr(path));
    }
  }
  return files;
}

void require_one_copy() {
  require(mapped("/libtraingraph.so").size() <= 1, "one copy of the library");
  require(mapped("onednn").size() <= 1, "one copy of oneDNN");
}

tg::TrainingGraph build_in_python() {
  py::dict names;
  py::exec(kBuild, names, names);
  return names["build"](kBatch, kFeatures).cast<tg::TrainingGraph>();
}

/// Python builds before the host has used the library.
void python_first() {
  const py::scoped_interpreter interpreter;
  tg::TrainingGraph training = build_in_python();
  const Data data;
  const float first = data.step(training);
  require(data.step(training) < first, "the graph trains");
  require_one_copy();
}

/// The host has graphs and a queue before there is an interpreter.
void library_first() {
  const tg::Tensor x({{kBatch, kFeatures}}, "x");
  const tg::Tensor y({{kBatch, 1}}, "y");
  tg::Graph graph;
  graph.node(std::make_shared<tg::layers::FullyConnected>(kFeatures, 1), x);
  tg::TrainingGraph training({graph},
                             std::make_shared<tg::losses::MeanSquaredError>(),
                             std::make_shared<tg::optimizers::SGD>(0.1f));
  training.add_inputs({{"x", x}}, {{"y", y}});
  training.compile(tg::Device::cpu());
  const Data data;
  const float first = data.step(training);
  const py::scoped_interpreter interpreter;
  py::dict names;
  py::exec(kBuild, names, names);
  const auto losses = names["steps"](training, 3).cast<std::vector<float>>();
  require(losses[0] < first && losses[2] < losses[1], "Python goes on");
  require(data.step(training) < losses[2], "and so does the host");
  require(training.parameters().size() == 2, "the parameters are there");
  require_one_copy();
}

/// Threads of the host run while Python does, on graphs of both.
void threads() {
  const py::scoped_interpreter interpreter;
  tg::TrainingGraph shared = build_in_python();
  py::dict names;
  py::exec(kBuild, names, names);
  std::atomic<int> steps{0};
  std::vector<std::thread> workers;
  for (int i = 0; i < 3; ++i) {
    workers.emplace_back([&steps, training = shared]() mutable {
      const Data data;
      for (int k = 0; k < 200; ++k) {
        data.step(training);
        ++steps;
      }
    });
  }
  // Holds the GIL but for its waits.
  names["steps"](shared, 200);
  {
    const py::gil_scoped_release released;
    for (std::thread& worker : workers) worker.join();
  }
  require(steps == 600, "every step of the host ran");
  require(shared.optimizer()->time_step() == 801, "every step was counted");
}

/// The interpreter ends; the graph that it built does not.
void finalized() {
  std::optional<tg::TrainingGraph> training;
  std::optional<tg::Execution> pending;
  const Data data;
  {
    const py::scoped_interpreter interpreter;
    training = build_in_python();
    // Python's memory in the hands of the device, and a callback of Python's.
    py::dict names;
    names["training"] = *training;
    py::exec(kBuild, names, names);
    py::exec(R"(
called = []
run = training.execute({"x": np.ones((4, 3), np.float32)},
                       {"y": np.ones((4, 1), np.float32)},
                       completion_handler=called.append)
)",
             names, names);
    pending = names["run"].cast<tg::Execution>();
  }
  require(!Py_IsInitialized(), "the interpreter is gone");
  pending->wait();
  const float first = data.step(*training);
  for (int i = 0; i < 20; ++i) data.step(*training);
  require(data.step(*training) < first, "the graph still trains");
  pending.reset();
  training.reset();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string test = argc > 1 ? argv[1] : "";
  if (test == "python_first") {
    python_first();
  } else if (test == "library_first") {
    library_first();
  } else if (test == "threads") {
    threads();
  } else if (test == "finalized") {
    finalized();
  } else {
    std::fprintf(stderr, "there is no test %s\n", test.c_str());
    return 2;
  }
  return 0;
}
