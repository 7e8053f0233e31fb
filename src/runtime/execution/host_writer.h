// SPDX-License-Identifier: MIT
// HostWriter: brings what the host supplies to the device for one execution.
// While nothing is in flight it goes straight to the device's memory if the
// host sees that, else through the execution's staging buffer.
#pragma once

#include <cstring>

#include "runtime/execution/execution_state.h"
#include "runtime/memory/placement.h"

namespace traingraph {

class HostWriter {
 public:
  /// `is_idle`: no work touches the memory of `placement`.
  HostWriter(ExecutionState& state, const Placement& placement, bool is_idle)
      : state_(state), placement_(placement), is_idle_(is_idle) {}

  /// Null when nothing reads the tensor in this mode.
  std::byte* room_for(TensorIndex tensor, std::size_t size) {
    const auto& placed = placement_.of(tensor);
    if (!placed) return nullptr;
    DeviceContext& context = *placement_.context();
    const Location to = placed->locate();
    std::byte* const view = is_idle_ ? context.host_view(to) : nullptr;
    return view ? view : state_.stage(context, to, size);
  }

  void write(TensorIndex tensor, const void* bytes, std::size_t size) {
    std::byte* const room = room_for(tensor, size);
    if (room) std::memcpy(room, bytes, size);
  }

 private:
  ExecutionState& state_;
  const Placement& placement_;
  const bool is_idle_;
};

}  // namespace traingraph
