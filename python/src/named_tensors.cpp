// SPDX-License-Identifier: MIT
#include "named_tensors.h"

#include "bindings.h"

namespace traingraph::python {
namespace {

void add_named(TensorMap& map, const Tensor& tensor, const Context& context) {
  const std::string name = name_of(tensor);
  if (name == "data" + std::to_string(tensor.tensor_id())) {
    refuse(context, "a tensor has no name of its own",
           "tensors with names, or a mapping of names to tensors", name,
           "tg.Tensor(shape, name=\"x\") has one.");
  }
  if (!map.emplace(name, tensor).second) {
    refuse(context, "two tensors have one name", "a name for each",
           '"' + name + '"', "A mapping gives them other names: {\"x\": x}.");
  }
}

}  // namespace

TensorMap to_map(const NamedTensors& tensors, const Context& context) {
  if (!tensors) return {};
  if (const auto* map = std::get_if<TensorMap>(&*tensors)) return *map;
  TensorMap map;
  if (const auto* tensor = std::get_if<Tensor>(&*tensors)) {
    add_named(map, *tensor, context);
    return map;
  }
  for (const Tensor& tensor : std::get<std::vector<Tensor>>(*tensors)) {
    add_named(map, tensor, context);
  }
  return map;
}

}  // namespace traingraph::python
