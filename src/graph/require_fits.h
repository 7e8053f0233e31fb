// SPDX-License-Identifier: MIT
// What every call asks of memory that it is given, to be read or written: the
// type, the shape and the size of a tensor, as far as the memory says them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "traingraph/tensor_data.h"

namespace traingraph {

struct WantedData {
  TensorDescriptor desc;
  /// The shape that a smaller batch may be the leading bytes of.
  std::optional<Shape> whole = std::nullopt;
  /// Bytes of no known shape may go on behind it.
  bool may_be_longer = true;
  /// Messages call the data so.
  const char* name = "the data";
};

enum class Misfit { None, Type, Shape, TooShort, TooLong };

Misfit misfit_of(const TensorData& data, const WantedData& wanted);
/// Throws DTypeError or ShapeError.
[[noreturn]] void fail_misfit(const char* call, std::string node,
                              const TensorData& data, const WantedData& wanted,
                              Misfit misfit, std::string hint);
void require_fits(const char* call, std::string_view node,
                  const TensorData& data, const WantedData& wanted);

}  // namespace traingraph
