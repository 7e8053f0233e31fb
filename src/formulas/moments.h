// SPDX-License-Identifier: MIT
// Running statistics of normalizations. Devices compute them in the numbers
// that they have: double, or float.
#pragma once

#include "formulas/portable.h"

namespace traingraph {
namespace formulas {

/// Moved towards what a batch has. One that is kept stays, whatever that is.
template <class Real>
Real moved(Real running, Real now, Real keep) {
  return keep == 1 ? running : keep * running + (1 - keep) * now;
}

/// Makes the variance of n samples that of samples in general.
template <class Real>
Real unbiasing(Real n) {
  return n > 1 ? n / (n - 1) : 1;
}

}  // namespace formulas
}  // namespace traingraph
