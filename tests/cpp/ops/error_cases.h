// SPDX-License-Identifier: MIT
// The table of ill-formed nodes, by the error that they raise.
#pragma once

#include <vector>

#include "traingraph/op_attrs.h"

namespace traingraph::testing {

struct ErrorInput {
  Shape shape = {};
  DataType data_type = DataType::Float32;
  bool is_absent = false;
};

inline ErrorInput boolean(Shape shape) { return {shape, DataType::Boolean}; }
inline ErrorInput int32(Shape shape) { return {shape, DataType::Int32}; }
inline ErrorInput int64(Shape shape) { return {shape, DataType::Int64}; }

struct ErrorCase {
  OpKind op;
  Attributes attrs;
  std::vector<ErrorInput> inputs;
};

std::vector<ErrorCase> shape_errors();
std::vector<ErrorCase> attribute_errors();
std::vector<ErrorCase> type_errors();

}  // namespace traingraph::testing
