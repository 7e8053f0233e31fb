// SPDX-License-Identifier: MIT
// What the error of a command buffer means.
#pragma once

#include <exception>
#include <string>

#import "metal/apple.h"

namespace traingraph::metal {

/// The error names layers that the GPU did not run; `got` is Apple's text.
std::exception_ptr device_error(std::string node, std::string got,
                                std::string hint = {});

/// The error is null when the command buffer ended well. Recovery explains
/// `leaves_partial_write`.
std::exception_ptr error_of(id<MTLCommandBuffer> buffer,
                            const std::string& label,
                            bool leaves_partial_write);

/// After too many errors macOS ignores whatever a queue is given.
bool ignores_submissions(id<MTLCommandBuffer> buffer);

}  // namespace traingraph::metal
