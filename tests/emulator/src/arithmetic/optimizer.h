// SPDX-License-Identifier: MIT
// The update rule of Adam.
#pragma once

#include "../array.h"

namespace emulator {

/// Inputs: learning rate, beta 1, beta 2, epsilon, [beta 1 ^ t, beta 2 ^ t,]
/// values, momentum, velocity, [maximum velocity,] gradient. Results: new
/// values, momentum, velocity [, maximum velocity]. Without the powers the
/// learning rate is already corrected. Epsilon is added to the square root of
/// the uncorrected velocity.
Kernel adam(bool has_powers, bool has_maximum);

}  // namespace emulator
