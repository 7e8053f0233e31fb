// SPDX-License-Identifier: MIT
// What launches have in common: a kernel, checked as the driver does.
#pragma once

#include "driver/state.h"

namespace cuda_emulator {

/// Fills `node`, or says what the driver says of it.
Result make_kernel_node(const traingraph::cuda::KernelNodeParams& params,
                        Node& node);
/// Was the module of one of these unloaded?
bool uses_unloaded(const std::vector<Node>& nodes);

}  // namespace cuda_emulator
