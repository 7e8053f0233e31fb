// SPDX-License-Identifier: MIT
// What holds for every graph that bytes describe: each call gives a result or
// a typed error, plans with and without reuse of memory give the same bits,
// and predicted memory is allocated memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "traingraph/device.h"

namespace traingraph::fuzz {

/// What does not hold; empty when all does. What is no fault of a graph's
/// author passes through: InternalError, DeviceError, what is no Error.
std::string find_fault(std::span<const std::uint8_t> bytes,
                       const Device& device);

}  // namespace traingraph::fuzz
