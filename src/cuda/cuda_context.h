// SPDX-License-Identifier: MIT
// The CUDA device as the rest of the library sees it: plain C++.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/device/device_context.h"

namespace traingraph::cuda {

/// The cards that can be used, by name; those of one name are numbered. Asks
/// the driver once.
const std::vector<std::string>& card_names();
/// Does the environment leave the device out?
bool is_turned_off();
/// Why there are none; empty when there is one.
std::string unavailable_reason();
/// A device with a stream and threads of its own on card `index` of
/// card_names(). Throws DeviceError when it cannot be used.
std::shared_ptr<DeviceContext> make_context(std::size_t index);
}  // namespace traingraph::cuda
