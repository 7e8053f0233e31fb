// SPDX-License-Identifier: MIT
#include "tests/metal_probes/kernel_reference.h"

#include <bit>
#include <cstring>

// The shading language's keywords are macros in it.
#include "tests/emulator/include/metal_stdlib"

#ifdef __clang__
// As the source asks Metal's compiler: no fused multiply-adds.
#pragma clang fp contract(off)
#endif

namespace update_reference {
using namespace ::metal;
#define TRAINGRAPH_MSL(...) __VA_ARGS__
#include "metal/kernels/update.metal"
#undef TRAINGRAPH_MSL
}  // namespace update_reference
#undef kernel
#undef device
#undef constant
#undef thread
#undef threadgroup

namespace traingraph::metal::probes {
namespace shader = update_reference;

std::uint32_t options_of(const UpdateChoices& choices) {
  std::uint32_t options = 0;
  if (choices.has_scale) options |= shader::kHasScale;
  if (choices.clips) options |= shader::kClipsByValue;
  if (choices.l1) options |= shader::kL1;
  if (choices.l2) options |= shader::kL2;
  if (choices.momentum) options |= shader::kMomentum;
  if (choices.nesterov) options |= shader::kNesterov;
  if (choices.amsgrad) options |= shader::kAmsgrad;
  if (choices.decoupled_decay) options |= shader::kDecoupledDecay;
  if (choices.centered) options |= shader::kCentered;
  return options;
}

void run_on_host(UpdateRun& run) {
  const auto params = std::bit_cast<shader::UpdateParams>(run.params);
  std::vector<shader::UpdateTensor> table(run.tensors.size());
  std::memcpy(table.data(), run.tensors.data(),
              table.size() * sizeof(UpdateTensor));
  const auto at = [&](UpdateBuffer b) { return run.memory[b].data(); };
  for (std::uint32_t id = 0; id < run.num_threads; ++id) {
    switch (run.kernel) {
      case Kernel::SgdUpdate:
        shader::sgd_update(at(kParameter), at(kGradient), at(kSlot1),
                           at(kHyperparameters), at(kScale), params,
                           table.data(), id);
        break;
      case Kernel::AdamUpdate:
        shader::adam_update(at(kParameter), at(kGradient), at(kSlot1),
                            at(kSlot2), at(kSlot3), at(kHyperparameters),
                            at(kScale), params, table.data(), id);
        break;
      case Kernel::RmspropUpdate:
        shader::rmsprop_update(at(kParameter), at(kGradient), at(kSlot1),
                               at(kSlot2), at(kSlot3), at(kHyperparameters),
                               at(kScale), params, table.data(), id);
        break;
      default:
        shader::accumulate_gradient(at(kParameter), at(kGradient),
                                    at(kHyperparameters), params, table.data(),
                                    id);
    }
  }
}

}  // namespace traingraph::metal::probes
