// SPDX-License-Identifier: MIT
// The header of a safetensors file:
//
//   8 bytes      size of the header, little-endian
//   the header   JSON: {"__metadata__": {text: text},
//                       name: {"dtype", "shape", "data_offsets": [begin, end]}}
//   the rest     data, which the tensors fill without gaps or overlaps
//
// A header that is read has been checked against all of that and against the
// size of the file, whatever the file holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/file.h"
#include "traingraph/checkpoint.h"

namespace traingraph {

struct StoredTensor {
  std::string name;
  std::string dtype;  // "F32", also of types that the library does not have
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0, end = 0;  // in the data

  std::uint64_t size_bytes() const { return end - begin; }
  bool has(const TensorDescriptor& descriptor) const;
  /// Formats "float32 (10, 64)".
  std::string to_string() const;
};

struct Header {
  std::vector<StoredTensor> tensors;
  Metadata metadata;
  std::uint64_t data_begin = 0;  // in the file

  /// Returns null when there is none.
  const StoredTensor* find(std::string_view name) const;
};

/// More is refused, as by other readers of the format.
inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

/// Throws FileError.
Header read_header(const InputFile& file);
/// Makes the file up to its data. Offsets are given in the order of `tensors`.
/// Throws InvalidArgument for text that is not UTF-8, and for too much of it.
std::string header_text(const char* call,
                        const std::vector<StateTensor>& tensors,
                        const Metadata& metadata);

/// "F32"
std::string_view stored_type(DataType type);

}  // namespace traingraph
