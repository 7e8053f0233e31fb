// SPDX-License-Identifier: MIT
// BufferRef: the command buffer of something temporary. It does not keep the
// buffer, which keeps what it was told to read.
#pragma once

#include <cstdint>

#import "objects.h"

namespace emulator::mpsnn {

class BufferRef {
 public:
  BufferRef() = default;
  explicit BufferRef(id<MTLCommandBuffer> buffer);

  bool is_set() const { return buffer_ != nil; }
  /// Nil when it is gone.
  id<MTLCommandBuffer> get() const;
  bool is_same(id<MTLCommandBuffer> other) const;
  /// Records while an encoder is open, too; nothing happens once the buffer is
  /// committed or gone.
  void record_quietly(Command command) const;

 private:
  __unsafe_unretained id<MTLCommandBuffer> buffer_ = nil;
  std::uint64_t serial_ = 0;
};

}  // namespace emulator::mpsnn
