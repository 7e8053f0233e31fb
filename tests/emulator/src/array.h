// SPDX-License-Identifier: MIT
// Array: a value while the emulator computes. Elements are doubles, row-major;
// the executor rounds them to the declared type after every operation.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace emulator {

using Dims = std::vector<std::int64_t>;

/// Element type (an MPSDataType) and shape of a tensor.
struct Type {
  std::uint32_t data_type = 0;
  Dims shape;

  std::int64_t num_elements() const {
    std::int64_t count = 1;
    for (std::int64_t length : shape) count *= length;
    return count;
  }
  bool operator==(const Type&) const = default;
};

struct Array {
  Type type;
  std::vector<double> data;
};

/// Computes the results of one operation. `results` have their types set and
/// `data` sized and zeroed. Shapes were checked when the operation was made, so
/// a kernel cannot fail.
using Kernel = std::function<void(const std::vector<const Array*>& inputs,
                                  std::vector<Array>& results)>;

/// Rounds to what the element type can hold (float, half, integers, Bool).
void round_to_type(Array& array);

}  // namespace emulator
