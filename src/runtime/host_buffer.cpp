// SPDX-License-Identifier: MIT
#include "runtime/host_buffer.h"

#include <cstring>
#include <new>

#include "traingraph/error.h"

namespace traingraph {
namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

HostBuffer::HostBuffer(std::size_t bytes, std::string_view label)
    : bytes_(bytes),
      data_(static_cast<std::byte*>(
          ::operator new(bytes ? bytes : 1, kAlignment, std::nothrow))) {
  if (!data_) {
    throw OutOfMemoryError(
        ErrorInfo{.op = "allocate",
                  .node = std::string(label),
                  .what = "out of memory",
                  .expected = std::to_string(bytes) + " bytes",
                  .hint = "Use a smaller batch."});
  }
  std::memset(data_, 0, bytes);
}

HostBuffer::~HostBuffer() { ::operator delete(data_, kAlignment); }

}  // namespace traingraph
