// SPDX-License-Identifier: MIT
// ParameterGroup: parameters for which an optimizer does something else.
#include <pybind11/stl.h>

#include "bindings.h"
#include "traingraph/training_graph.h"

namespace traingraph::python {

void bind_parameter_groups(py::module_& m) {
  BoundClass<ParameterGroup>(m, "ParameterGroup",
                             R"pbdoc(
        What the optimizer does differently for some parameters; see
        TrainingGraph.set_parameter_groups().

        Args:
            parameters: the tensors; tg.parameters_of() finds them.
            lr_scale: times the optimizer's rate, and AdamW's decay with it; 0
                or more.
            weight_decay: replaces the optimizer's regularization_scale, of L1
                and L2 or AdamW's decay; None: as for all others.

        Raises:
            CallError: an argument of another type. set_parameter_groups()
                raises InvalidArgument for numbers out of range.

        Example:
            >>> group = tg.ParameterGroup(tg.parameters_of(graph), lr_scale=0.1)
            >>> [parameter.name for parameter in group.parameters]
            ['fc.weights', 'fc.biases']
      )pbdoc")
      .def(py::init([](std::vector<Tensor> parameters, float lr_scale,
                       std::optional<float> weight_decay) {
             return ParameterGroup{std::move(parameters), lr_scale,
                                   weight_decay};
           }),
           py::arg("parameters"), py::arg("lr_scale") = 1.0F,
           py::arg("weight_decay") = py::none())
      .def_readonly("parameters", &ParameterGroup::parameters, "The tensors.")
      .def_readonly("lr_scale", &ParameterGroup::lr_scale,
                    "What the optimizer's rate is multiplied by.")
      .def_readonly("weight_decay", &ParameterGroup::weight_decay,
                    "What replaces regularization_scale; None: nothing.")
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
