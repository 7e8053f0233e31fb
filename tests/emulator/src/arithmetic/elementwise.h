// SPDX-License-Identifier: MIT
// Operations that compute every element of the result from the elements of the
// inputs at the same place, after broadcasting.
#pragma once

#include "../array.h"

namespace emulator {

/// Every result element is compute(the inputs' elements).
Kernel elementwise(std::function<double(const double*)> compute);

using Unary = double (*)(double);
using Binary = double (*)(double, double);

Kernel unary(Unary compute);
Kernel binary(Binary compute);

}  // namespace emulator
