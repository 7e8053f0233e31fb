// SPDX-License-Identifier: MIT
// ParameterGroup: parameters for which an optimizer does something else.
#include <pybind11/stl.h>

#include "bindings.h"
#include "traingraph/training_graph.h"

namespace traingraph::python {

namespace {

constexpr const char* kParameterGroupDoc = R"pbdoc(
    What the optimizer does differently for some parameters.

    Give groups to TrainingGraph.set_parameter_groups() before compile().

    Args:
        parameters: The parameters, as layer.weights gives them.
        lr_scale: A factor of the optimizer's rate, and of AdamW's decay with it.
        weight_decay: In place of the optimizer's regularization_scale, of "l1", "l2" or
            AdamW's decay; None: as for all others.

    Example:
        >>> fc = tg.layers.FullyConnected(16, 10)
        >>> tg.ParameterGroup([fc.biases], weight_decay=0.0).lr_scale
        1.0
)pbdoc";

}  // namespace

void bind_parameter_groups(py::module_& m) {
  BoundClass<ParameterGroup>(m, "ParameterGroup", kParameterGroupDoc)
      .def(py::init([](std::vector<Tensor> parameters, float lr_scale,
                       std::optional<float> weight_decay) {
             return ParameterGroup{std::move(parameters), lr_scale,
                                   weight_decay};
           }),
           py::arg("parameters"), py::arg("lr_scale") = 1.0F,
           py::arg("weight_decay") = py::none())
      .def_readonly("parameters", &ParameterGroup::parameters)
      .def_readonly("lr_scale", &ParameterGroup::lr_scale)
      .def_readonly("weight_decay", &ParameterGroup::weight_decay)
      .def("__repr__", [](const ParameterGroup& self) {
        std::string names;
        for (const Tensor& tensor : self.parameters) {
          names += (names.empty() ? "" : ", ") + tensor.name();
        }
        const std::string decay =
            self.weight_decay ? std::to_string(*self.weight_decay) : "None";
        return "ParameterGroup([" + names +
               "], lr_scale=" + std::to_string(self.lr_scale) +
               ", weight_decay=" + decay + ")";
      });
}

}  // namespace traingraph::python
