// SPDX-License-Identifier: MIT
#include "driver/library_work.h"

#include <utility>

#include "driver/state.h"

namespace cuda_emulator {

Result enqueue_library_work(traingraph::cuda::StreamHandle handle,
                            const std::vector<Access>& accesses,
                            std::function<void()> run) {
  EMULATED_CALL();
  const auto stream = state().streams.find(handle);
  if (stream == nullptr) return kInvalidHandle;
  for (const Access& access : accesses) {
    const Range* const range =
        state().memory.find(access.address, access.bytes);
    if (range == nullptr || range->owner != stream->card) {
      return Result::InvalidValue;
    }
  }
  Node node;
  node.other = std::move(run);
  return submit_node(stream, std::move(node));
}

}  // namespace cuda_emulator
