// SPDX-License-Identifier: MIT
// A simulator as a Python module: it trains graphs that Python built on what it
// simulates, without a copy to NumPy and without the GIL.
#include "pendulum.h"

#include <pybind11/pybind11.h>
#include <traingraph/python_casters.h>

namespace py = pybind11;
namespace tg = traingraph;

PYBIND11_MODULE(pendulum, m) {
  tg::raise_errors_of_package();
  m.def(
      "train",
      [](tg::TrainingGraph training, int batch, int steps) {
        const py::gil_scoped_release released;
        std::mt19937 random(1);
        Motion motion(batch);
        float loss = 0;
        for (int i = 0; i < steps; ++i) {
          motion.fill(random);
          loss = training
                     .execute({{"state", tg::TensorData(motion.state)}},
                              {{"change", tg::TensorData(motion.change)}})
                     .result()
                     .loss();
        }
        return loss;
      },
      py::arg("training"), py::arg("batch"), py::arg("steps"),
      "The loss after so many steps on simulated motion.");
}
