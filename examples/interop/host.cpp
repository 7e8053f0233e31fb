// SPDX-License-Identifier: MIT
// A host that lets a Python script build the network, and then needs Python no
// more: it finalizes the interpreter and trains on.
#include <pybind11/embed.h>
#include <traingraph/python_casters.h>

#include <cstdio>

#include "pendulum.h"

namespace py = pybind11;
namespace tg = traingraph;

int main(int argc, char** argv) {
  std::optional<tg::TrainingGraph> training;
  {
    const py::scoped_interpreter interpreter;
    py::module_::import("sys").attr("path").attr("append")(argc > 1 ? argv[1]
                                                                    : ".");
    const py::module_ network = py::module_::import("network");
    training = network.attr("build")().cast<tg::TrainingGraph>();
  }
  const int batch = static_cast<int>(training->inputs().at("state").shape()[0]);
  std::mt19937 random(1);
  Motion motion(batch);
  float loss = 0;
  for (int step = 1; step <= 1000; ++step) {
    motion.fill(random);
    loss = training
               ->execute({{"state", tg::TensorData(motion.state)}},
                         {{"change", tg::TensorData(motion.change)}})
               .result()
               .loss();
    if (step % 250 == 0) std::printf("after %d steps: loss %.2e\n", step, loss);
  }
  return loss < 1e-3F ? 0 : 1;
}
