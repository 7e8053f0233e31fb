// SPDX-License-Identifier: MIT
// bfloat16 by DLPack, which NumPy's own functions refuse; they do all else.
#pragma once

#include <optional>
#include <span>

#include "arrays.h"

namespace traingraph::python {

/// A view of the bits in host memory, of the type stored_dtype(BFloat16).
/// Empty for what is not that.
std::optional<py::array> bfloat16_from_dlpack(py::handle source);

/// Options of __dlpack__().
struct DlpackOptions {
  bool is_versioned = false;  // then a reader knows that it must not write
  std::optional<bool> copy;

  /// Throws BufferError for another device than the host.
  explicit DlpackOptions(const py::kwargs& options);
};

/// A capsule of `data`, which `owner` keeps alive, or of a copy: a reader that
/// cannot be told not to write gets one. Throws BufferError when it must not.
py::object bfloat16_to_dlpack(std::span<const std::byte> data,
                              const Shape& shape,
                              std::shared_ptr<const void> owner,
                              const DlpackOptions& options);

}  // namespace traingraph::python
