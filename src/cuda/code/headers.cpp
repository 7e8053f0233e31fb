// SPDX-License-Identifier: MIT
#include "cuda/code/headers.h"

namespace traingraph::cuda {
namespace {

constexpr Header kHeaders[] = {
#include "cuda/kernels/headers.text"
};

}  // namespace

std::span<const Header> kernel_headers() { return kHeaders; }

}  // namespace traingraph::cuda
