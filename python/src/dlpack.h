// SPDX-License-Identifier: MIT
// DLPack: copies of tensors as capsules, and views of bfloat16, which NumPy's
// own functions refuse.
#pragma once

#include <optional>

#include "arrays.h"

namespace traingraph::python {

/// numpy.from_dlpack(). must_share: of memory that is written, so that a copy
/// is an error, as far as NumPy and the array can be told.
py::object numpy_from_dlpack(py::handle source, bool must_share);

/// A view of the bits in host memory, of the type stored_dtype(BFloat16).
/// Empty for what is not that, and for what raises errors.
std::optional<py::array> bfloat16_from_dlpack(py::handle source);

/// What a reader asks __dlpack__() for; None is whatever there is.
struct DlpackRequest {
  py::object stream, max_version, device, copy;

  /// Throws BufferError unless a copy on the host will do.
  void require_possible() const;
};

/// A capsule that keeps `copy`, one block of a stored_dtype(), which is the
/// reader's from here on. Marked as a copy, unless the reader is of before
/// DLPack 1.0, which has no such mark.
py::object to_dlpack(py::array copy, DataType type,
                     const DlpackRequest& request);

}  // namespace traingraph::python
