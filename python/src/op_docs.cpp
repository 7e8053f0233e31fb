// SPDX-License-Identifier: MIT
#include "op_docs.h"

#include "bindings.h"
#include "docstrings.h"

namespace traingraph::python {
namespace {

constexpr const char* kOpRaises = R"pbdoc(

Raises:
    ShapeError: for shapes that do not fit.
    DTypeError: for an input of a type that the op does not take: floats of 32 or
        16 bits, all of one type, unless said above.
    InvalidArgument: for an option that is missing, unknown or out of range.
    StateError: after the graph was compiled.
)pbdoc";

constexpr const char* kUpdateRaises = R"pbdoc(

Raises:
    InvalidArgument: always. An update is no node of a graph; compile() appends
        those of the optimizer.
)pbdoc";

py::dict options_of(const OpInfo& op) {
  py::dict options;
  for (const OpAttribute& attribute : op.attributes) {
    options[attribute.name.c_str()] = attribute.doc;
  }
  options["name"] = "What errors and listings call the node.";
  options["phase"] = "When it runs: \"forward\", \"gradient\" or \"update\".";
  return options;
}

}  // namespace

std::string op_documentation(const OpInfo& op) {
  std::string text = with_arguments(op.doc.c_str(), options_of(op));
  text += op.results.empty() ? kUpdateRaises : kOpRaises;
  const std::string_view example = op_example(op.name);
  if (example.empty()) return text;
  return text + "\nExample:\n    >>> g = tg.Graph()" + std::string(example);
}

}  // namespace traingraph::python
