// SPDX-License-Identifier: MIT
// Padding as layers take it, and how they are made.
#pragma once

#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>

#include "bindings.h"
#include "casters.h"
#include "docstrings.h"

namespace traingraph::python {

/// padding="same", "valid", one integer or (y, x).
struct PaddingSpec {
  PaddingPolicy policy = PaddingPolicy::Same;
  Pair sizes{};
};

/// Sizes that the policy use_padding_size was not given.
[[noreturn]] inline void fail_without_sizes(const char* op) {
  throw InvalidArgument(ErrorInfo{
      .op = op,
      .node = {},
      .what = "use_padding_size needs sizes",
      .expected = "padding_sizes, (height, width) or one integer",
      .got = "none",
      .hint = "The policy valid pads nothing. Layers take sizes as padding."});
}

/// Makes a layer that Python owns, with a name when one is given.
template <class Layer, class... Args>
std::shared_ptr<Layer> make_layer(const std::string& name, Args&&... args) {
  const auto make = [&] {
    auto layer = std::make_shared<Layer>(std::forward<Args>(args)...);
    if (!name.empty()) layer->set_name(name);
    return layer;
  };
  return made_without_gil(make);  // parameters may be large
}

/// Binds a layer whose keywords are its constructor's parameters.
template <class Layer, class Base, class... Parameters>
struct SimpleLayer {
  using Class = BoundClass<Layer, Base, std::shared_ptr<Layer>>;

  template <class... Extra>
  static Class bind(py::module_& m, const char* name, const char* doc,
                    const Extra&... extra) {
    Class type(m, name, doc);
    type.def(py::init([](Parameters... parameters, const std::string& name) {
               return make_layer<Layer>(name, parameters...);
             }),
             extra..., py::kw_only(), py::arg("name") = "");
    add_arguments(type, py::dict(py::arg("name") = kNameDoc));
    return type;
  }
};

}  // namespace traingraph::python

template <>
class pybind11::detail::type_caster<traingraph::python::PaddingSpec> {
 public:
  PYBIND11_TYPE_CASTER(traingraph::python::PaddingSpec,
                       const_name("traingraph._core.PaddingPolicy | "
                                  "typing.Literal['same', 'valid'] | "
                                  "collections.abc.Sequence[int] | int"));
  bool load(handle source, bool convert) {
    // An enum case is an integer too: look for it first.
    type_caster<traingraph::PaddingPolicy> policy;
    if (policy.load(source, convert)) {
      value = {static_cast<traingraph::PaddingPolicy&>(policy), {}};
      if (value.policy == traingraph::PaddingPolicy::UsePaddingSize) {
        traingraph::python::fail_without_sizes("padding");
      }
      return true;
    }
    type_caster<traingraph::Pair> sizes;
    if (!sizes.load(source, convert)) return false;
    value = {traingraph::PaddingPolicy::UsePaddingSize,
             static_cast<traingraph::Pair&>(sizes)};
    return true;
  }
};
