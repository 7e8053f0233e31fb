// SPDX-License-Identifier: MIT
// Rows of a table that are scaled where their norm is larger than it may be.
#pragma once

#include "cuda/kernels/gather.cuh"

namespace traingraph {
namespace cuda {

/// What a row is multiplied with: 1, or what makes its norm of order `p` at
/// most `most`. The divisor is PyTorch's, with which a row that was scaled is
/// not, as a rule, scaled again.
template <class Team, class T>
inline __device__ float scale_of_row(const T* row, Index width, float p,
                                     float most) {
  using Largest = First<Greatest<float>>;
  float largest = 0;
  for (Index i = Team::lane(); i < width; i += Team::kSize) {
    largest = Largest::merge(largest, fabs(static_cast<float>(row[i])));
  }
  largest = Team::template all<Largest>(largest);
  float norm = largest;
  const bool has_powers = largest > 0 && largest < infinity();
  if (p < infinity() && has_powers) {
    // Powers of the elements themselves may be out of range.
    PreciseSum sum = Sum::neutral();
    for (Index i = Team::lane(); i < width; i += Team::kSize) {
      const float share = fabs(static_cast<float>(row[i])) / largest;
      const float power = p == 2   ? share * share
                          : p == 1 ? share
                                   : pow(share, p);
      sum = Sum::merge(sum, Sum::of(power));
    }
    const float total = Team::template all<Sum>(sum).value();
    const float root = p == 2   ? sqrt(total)
                       : p == 1 ? total
                                : pow(total, 1 / p);
    norm = largest * root;
  }
  return norm > most ? most / (norm + 1e-7f) : 1.0f;
}

/// Is token k the first that names its row?
template <class Team, class At>
inline __device__ bool is_first(Index k, At at) {
  using Any = First<Greatest<int32>>;
  const Index row = at(k);
  int32 is_named = 0;
  for (Index j = Team::lane(); j < k; j += Team::kSize) {
    if (at(j) == row) is_named = 1;
  }
  return Team::template all<Any>(is_named) == 0;
}

}  // namespace cuda
}  // namespace traingraph
