// SPDX-License-Identifier: MIT
// Dropout with the same bits as on the CPU: as a mask for the executable that
// follows, or wholly by a kernel. One thread per block of four elements.
#pragma once

#include <cstdint>

#include "formulas/random.h"
#include "metal/kernels/kernels.h"
#include "traingraph/op_attrs.h"

namespace traingraph::metal {

/// What is kept is multiplied by this.
float kept_scale(const DropoutAttrs& attrs);

formulas::DropoutCall dropout_call(const DropoutAttrs& attrs,
                                   std::int64_t count);

/// `kernel` is one of the two of dropout.
KernelLaunch launch_dropout(Kernel kernel, const DropoutAttrs& attrs,
                            std::int64_t count);

}  // namespace traingraph::metal
