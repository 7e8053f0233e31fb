// SPDX-License-Identifier: MIT
// OpInfo: the rows of ops.inc as data, for bindings and documentation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "traingraph/export.h"
#include "traingraph/op_attrs.h"

namespace traingraph {

struct OpInput {
  std::string_view name;
  std::uint32_t types = 0;   // that it may have: bits of 1 << DataType
  bool is_optional = false;  // Graph::op takes an empty Tensor for it
  bool is_variadic = false;  // the last input: one or more tensors
  bool is_mutated = false;   // the op writes it
};

struct OpAttribute {
  std::string name;  // a field of its struct
  std::string doc;
};

struct OpInfo {
  OpKind kind{};
  std::string_view name;
  /// A summary, "Args:" with the inputs, and "Returns:".
  std::string doc;
  std::vector<OpInput> inputs;
  std::vector<std::string_view> results;
  Attributes default_attributes;
  std::vector<OpAttribute> attributes;
};

/// All ops, in the order of ops.inc.
TRAINGRAPH_API std::vector<OpInfo> op_infos();

}  // namespace traingraph
