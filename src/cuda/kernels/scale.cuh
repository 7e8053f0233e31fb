// SPDX-License-Identifier: MIT
// What scales gradients: clipping by their norm, and the loss scale of floats
// of 16 bits. One block each.
#pragma once

#include "cuda/kernels/portable_cuda.cuh"
#include "formulas/loss_scale.h"
#include "formulas/run_time_scalars.h"

namespace traingraph {
namespace cuda {

enum { kScaleThreads = 256 };

/// The square of the norm of a gradient.
struct NormPart {
  uint64 square;    // address of it, in float32
  uint64 elements;  // address of the gradient; 0: not known
  uint64 count;     // of its elements
};

inline __device__ double block_sum(double value) {
  SHARED(double, sums, kScaleThreads);
  sums[threadIdx.x] = value;
  barrier();
  for (unsigned half = kScaleThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    barrier();
  }
  const double sum = sums[0];
  barrier();
  return sum;
}

/// Added up again where float32 could not hold it.
inline __device__ double squared_norm(NormPart part) {
  const float square = *reinterpret_cast<const float*>(part.square);
  if (square != infinity() || part.elements == 0) return square;
  const float* elements = reinterpret_cast<const float*>(part.elements);
  double sum = 0;
  for (uint64 i = threadIdx.x; i < part.count; i += kScaleThreads) {
    sum += static_cast<double>(elements[i]) * elements[i];
  }
  return block_sum(sum);
}

inline __device__ void clip_scale(const uint64* parts, int count,
                                  const Hyperparameters* now, float custom_norm,
                                  float maximum_norm, float* scale) {
  double sum = 0;
  for (int k = 0; k < count; ++k) {
    sum += squared_norm(reinterpret_cast<const NormPart*>(parts)[k]);
  }
  if (threadIdx.x != 0) return;
  const double norm = custom_norm != 0 ? custom_norm : ::sqrt(sum);
  const bool is_within = norm <= maximum_norm;  // NaN is not
  *scale = now->clips != 0 && !is_within
               ? static_cast<float>(maximum_norm / norm)
               : 1.0f;
}

inline __device__ bool is_finite(float x) {
  return (bits_of(x) & 0x7fffffffu) < 0x7f800000u;
}

/// `squares`: addresses of the squared norms of all gradients.
inline __device__ void update_loss_scale(const uint64* squares, int count,
                                         LossScale* state,
                                         const Hyperparameters* given,
                                         float interval, float beta1,
                                         float beta2, float* scale,
                                         Hyperparameters* own) {
  if (threadIdx.x != 0) return;
  bool all_finite = true;
  for (int k = 0; k < count; ++k) {
    all_finite &= is_finite(*reinterpret_cast<const float*>(squares[k]));
  }
  *scale = all_finite ? 1.0f : -1.0f;
  *state = next_loss_scale<float>(*state, all_finite, interval);
  *own = *given;
  // Adam's, for a step that counts only updates which were not left out.
  if ((beta1 == 0 && beta2 == 0) || state->skipped_steps == 0) return;
  const float left = given->time_step - state->skipped_steps;
  own->corrected_rate = static_cast<float>(
      corrected_rate(given->learning_rate, beta1, beta2, left > 1 ? left : 1));
}

}  // namespace cuda
}  // namespace traingraph
