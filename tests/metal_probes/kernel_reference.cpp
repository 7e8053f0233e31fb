// SPDX-License-Identifier: MIT
#include "tests/metal_probes/kernel_reference.h"

// The shading language's keywords are macros in it.
#include "tests/emulator/include/metal_stdlib"

#ifdef __clang__
// As the source asks Metal's compiler: no fused multiply-adds.
#pragma clang fp contract(off)
#endif

namespace update_reference {
using namespace ::metal;
#include "metal/kernels/update.metal"
}  // namespace update_reference
#undef kernel
#undef device
#undef constant
#undef thread
#undef threadgroup

namespace traingraph::metal::probes {
namespace shader = update_reference;

void run_on_host(UpdateRun& run) {
  const auto at = [&](int buffer) { return run.memory[buffer].data(); };
  for (std::uint32_t id = 0; id < run.num_threads; ++id) {
    switch (run.kernel) {
#define UPDATE(Op, name, Step)                                              \
  case Kernel::Op:                                                          \
    shader::name(at(0), at(1), at(2), at(3), at(4), at(5), at(6), run.call, \
                 run.tensors.data(), id);                                   \
    break;
      TRAINGRAPH_UPDATES(UPDATE)
#undef UPDATE
      default:
        shader::accumulate_gradient(at(kUpdatedParameter), at(kUpdateGradient),
                                    at(kUpdateHyperparameters), run.call,
                                    run.tensors.data(), id);
    }
  }
}

}  // namespace traingraph::metal::probes
