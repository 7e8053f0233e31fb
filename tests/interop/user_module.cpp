// SPDX-License-Identifier: MIT
// What a user's pybind11 module does with graphs that Python built.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <thread>
#include <vector>

#include "traingraph/python_casters.h"
#include "traingraph/traingraph.h"

#ifndef USER_MODULE
#define USER_MODULE user_module
#endif

namespace py = pybind11;
namespace tg = traingraph;

namespace {

/// One step; x and y of the declared size.
tg::Execution step(tg::TrainingGraph training, std::vector<float> x,
                   std::vector<float> y) {
  const py::gil_scoped_release released;
  return training.execute({{"x", tg::TensorData(x)}},
                          {{"y", tg::TensorData(y)}});
}

/// The losses of `count` steps of a thread of its own, which never has the
/// GIL.
std::vector<float> train(tg::TrainingGraph training, std::vector<float> x,
                         std::vector<float> y, int count) {
  std::vector<float> losses;
  const py::gil_scoped_release released;
  std::thread([&] {
    for (int i = 0; i < count; ++i) {
      losses.push_back(
          training
              .execute({{"x", tg::TensorData(x)}}, {{"y", tg::TensorData(y)}})
              .result()
              .loss());
    }
  }).join();
  return losses;
}

tg::TrainingGraph build(std::int64_t batch, std::int64_t features) {
  const tg::Tensor x({{batch, features}}, "x");
  const tg::Tensor y({{batch, 1}}, "y");
  tg::Graph graph;
  graph.node(std::make_shared<tg::layers::FullyConnected>(features, 1), x);
  tg::TrainingGraph training({graph},
                             std::make_shared<tg::losses::MeanSquaredError>(),
                             std::make_shared<tg::optimizers::SGD>(0.1f));
  training.add_inputs({{"x", x}}, {{"y", y}});
  training.compile(tg::Device::cpu());
  return training;
}

std::vector<tg::Tensor> g_kept;

}  // namespace

PYBIND11_MODULE(USER_MODULE, m) {
  tg::raise_errors_of_package();
  m.attr("pybind11_internals") = PYBIND11_INTERNALS_ID;
  m.def("step", &step);
  m.def("train", &train);
  m.def("build", &build);
  m.def("loss", [](const tg::Execution& execution) {
    const py::gil_scoped_release released;
    return execution.result().loss();
  });
  m.def("same", [](const tg::InferenceGraph& graph) { return graph; });
  m.def(
      "optional", [](std::optional<tg::Tensor> tensor) { return tensor; },
      py::arg("tensor") = py::none());
  m.def("parameters",
        [](const tg::TrainingGraph& graph) { return graph.parameters(); });
  m.def("keep", [](const tg::Tensor& tensor) { g_kept.push_back(tensor); });
  m.def("kept", [] { return g_kept; });
  m.def("fail", [](tg::TrainingGraph training) {
    training.execute({{"nothing", tg::TensorData(std::span<const float>())}});
  });
  m.def("wrong_version", [](const tg::Tensor& tensor) {
    // As a module of another version would name it.
    auto* copy = new tg::Tensor(tensor);
    return py::capsule(copy, "traingraph 99.0.0 Tensor", [](PyObject* self) {
      delete static_cast<tg::Tensor*>(
          PyCapsule_GetPointer(self, "traingraph 99.0.0 Tensor"));
    });
  });
  m.def("wrong_library", [](const tg::Tensor& tensor) {
    const auto capsule =
        py::reinterpret_steal<py::capsule>(tg::interop::make_capsule(tensor));
    PyCapsule_SetContext(capsule.ptr(), nullptr);
    return capsule;
  });
}
