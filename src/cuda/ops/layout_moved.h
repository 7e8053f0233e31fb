// SPDX-License-Identifier: MIT
// Elements that are moved as they are, whatever they mean.
#pragma once

#include "traingraph/types.h"

namespace traingraph::cuda {

/// The type that stands for all of its size: fewer kernels.
inline DataType moved_type(DataType type) {
  switch (size_of(type)) {
    case 1:
      return DataType::UInt8;
    case 2:
      return DataType::Float16;
    case 4:
      return DataType::Int32;
    default:
      return DataType::Int64;
  }
}

}  // namespace traingraph::cuda
