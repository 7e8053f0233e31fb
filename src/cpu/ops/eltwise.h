// SPDX-License-Identifier: MIT
// Element-wise kernels in whatever layout their operands have: oneDNN's
// eltwise primitive, and plain loops over the bytes of a layout.
#pragma once

#include <functional>
#include <optional>

#include "cpu/lowering.h"
#include "cpu/parallel.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {

/// oneDNN's function of one variable.
struct Eltwise {
  dnnl::algorithm algorithm;
  float alpha = 0, beta = 0;
};

/// oneDNN's function for an activation, if its formula is ours.
std::optional<Eltwise> find_eltwise(const ActivationAttrs& attrs);

/// Our own loop, which runs instead of oneDNN's function when a NaN is in x or
/// a magnitude above `largest`.
struct Fallback {
  using Loop = std::function<void(const float* x, float* y, std::int64_t n)>;
  float largest = 0;
  Loop loop = nullptr;  // none: oneDNN's function is right everywhere
};

/// result 0 = f(input 0).
void lower_eltwise(NodeLowering& lowering, Eltwise f,
                   const Fallback& fallback = {});
/// result 0 = input 0 * f'(input 1); or f' as a function of f(x), where input 1
/// is that.
void lower_eltwise_gradient(NodeLowering& lowering, Eltwise f);

/// The layout of `input` if a loop over its bytes may run in it: oneDNN wants
/// zeros in padded areas, so a function that moves zero needs a plain one.
dnnl::memory::desc loop_layout(const NodeLowering& lowering, int input,
                               bool keeps_zero);
/// The layout for two operands of equal shape: that of `first`, unless only
/// `second` was given a special one.
dnnl::memory::desc common_layout(const NodeLowering& lowering, int first,
                                 int second, bool keeps_zero);
/// Are all magnitudes at most `largest`, and none NaN?
bool is_within(const float* x, std::int64_t n, float largest);
/// Elements of a layout, padding included.
std::int64_t num_floats(const dnnl::memory::desc& layout);

template <class F>
void map_floats(std::int64_t n, std::int64_t grain, const float* x, float* y,
                F f) {
  parallel_for(n, grain, [=](std::int64_t begin, std::int64_t end) {
    const F local = f;  // else a store to y may be one to a constant of f
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) y[i] = local(x[i]);
  });
}

template <class F>
void zip_floats(std::int64_t n, std::int64_t grain, const float* x,
                const float* y, float* z, F f) {
  parallel_for(n, grain, [=](std::int64_t begin, std::int64_t end) {
    const F local = f;
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) z[i] = local(x[i], y[i]);
  });
}

/// result 0 = f(input 0), element by element.
template <class F>
void lower_map(NodeLowering& lowering, std::int64_t grain, F f) {
  const auto layout = loop_layout(lowering, 0, f(0.0f) == 0.0f);
  const int in = lowering.read(0, layout), out = lowering.write(0, layout);
  lowering.may_run_in_place(0, 0);
  lowering.emit([=, n = num_floats(layout)](
                    std::span<std::byte* const> at) -> BoundKernel {
    return [f, n, grain, x = floats(at[in]), y = floats(at[out])] {
      map_floats(n, grain, x, y, f);
    };
  });
}

/// result 0 = f(input 0, input 1) for inputs of equal shape.
template <class F>
void lower_zip(NodeLowering& lowering, std::int64_t grain,
               const dnnl::memory::desc& layout, F f) {
  const int left = lowering.read(0, layout), right = lowering.read(1, layout);
  const int out = lowering.write(0, layout);
  lowering.may_run_in_place(0, 0);
  lowering.may_run_in_place(0, 1);
  lowering.emit([=, n = num_floats(layout)](
                    std::span<std::byte* const> at) -> BoundKernel {
    return [f, n, grain, x = floats(at[left]), y = floats(at[right]),
            z = floats(at[out])] { zip_floats(n, grain, x, y, z, f); };
  });
}

}  // namespace traingraph::cpu
