// SPDX-License-Identifier: MIT
// Texts of kernels to machine code, by NVRTC, through a cache on disk.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cuda/code/kernel.h"

namespace traingraph::cuda {

/// The name that a kernel has in the code that compile_kernels() returns.
std::string kernel_name(const KernelText& text);

/// Returns the machine code of one module with all of `texts`, from the cache
/// if it is there. Throws UnsupportedError when NVRTC is not installed, and
/// InternalError with its log when it refuses the text.
std::string compile_kernels(std::span<const KernelText> texts,
                            const std::string& architecture);

}  // namespace traingraph::cuda
