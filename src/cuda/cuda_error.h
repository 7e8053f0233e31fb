// SPDX-License-Identifier: MIT
// Results of the driver as exceptions.
#pragma once

#include <stdexcept>
#include <string>

#include "cuda/abi/driver.h"

namespace traingraph::cuda {

/// What the driver says of a result: "CUDA_ERROR_X (an explanation)".
std::string text_of(const Driver& driver, Result result);

/// Is the device of no use any more after this?
bool is_loss(Result result);

/// The device is lost, as the driver says; its context makes a DeviceLostError
/// of it.
class Loss : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws Loss, or DeviceError, naming the call, unless it succeeded.
void check(const Driver& driver, Result result, const char* call);

}  // namespace traingraph::cuda
