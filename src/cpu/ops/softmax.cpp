// SPDX-License-Identifier: MIT
// Softmax, log-softmax and their gradient on row-major data seen as (outer,
// axis, inner). oneDNN is fast when inner is 1; for strided axes it has only
// its reference loop, element by element, so these have loops here.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/lowering.h"
#include "cpu/parallel.h"
#include "cpu/typed_address.h"
#include "cpu/vector_math.h"

namespace traingraph::cpu {
namespace {

using dnnl::memory;
using dnnl::prop_kind;
using Forward = dnnl::softmax_forward;
using Backward = dnnl::softmax_backward;

constexpr int kAxis = 1;
/// Positions that the loops handle side by side.
constexpr std::int64_t kColumns = 64;

struct SoftmaxView {
  std::int64_t outer = 1, length = 1, inner = 1;

  SoftmaxView(const Shape& shape, std::int64_t axis) : length(shape[axis]) {
    for (int i = 0; i < axis; ++i) outer *= shape[i];
    for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  }
  memory::desc rows() const {
    return memory::desc({outer, length}, memory::data_type::f32,
                        memory::format_tag::ab);
  }
};

/// Calls f(offset of the first element, number of columns) for blocks of
/// columns; element k of column j is at offset + k * inner + j.
template <class F>
void for_each_column_block(const SoftmaxView& view, F&& f) {
  const std::int64_t blocks = (view.inner + kColumns - 1) / kColumns;
  const std::int64_t elements = view.length * std::min(kColumns, view.inner);
  parallel_for(
      view.outer * blocks, std::max<std::int64_t>(1, kCostlyGrain / elements),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t block = begin; block < end; ++block) {
          const std::int64_t column = block % blocks * kColumns;
          f(block / blocks * view.length * view.inner + column,
            std::min(kColumns, view.inner - column));
        }
      },
      /*multiple=*/1);
}

void run_columns(const SoftmaxView& view, bool is_log, const float* source,
                 float* target) {
  for_each_column_block(view, [&](std::int64_t offset, std::int64_t count) {
    const float* x = source + offset;
    float largest[kColumns], sum[kColumns] = {};
    std::fill_n(largest, count, -std::numeric_limits<float>::infinity());
    const std::int64_t end = view.length * view.inner;
    for (std::int64_t k = 0; k < end; k += view.inner) {
      for (std::int64_t j = 0; j < count; ++j) {
        largest[j] = x[k + j] > largest[j] ? x[k + j] : largest[j];
      }
    }
    float* y = target + offset;  // may be x
    for (std::int64_t k = 0; k < end; k += view.inner) {
#pragma omp simd
      for (std::int64_t j = 0; j < count; ++j) {
        const float shifted = x[k + j] - largest[j];
        const float e = fast_exp(shifted);
        sum[j] += e;
        y[k + j] = is_log ? shifted : e;
      }
    }
    for (std::int64_t j = 0; j < count; ++j) {
      sum[j] = is_log ? std::log(sum[j]) : 1 / sum[j];
    }
    for (std::int64_t k = 0; k < end; k += view.inner) {
      for (std::int64_t j = 0; j < count; ++j) {
        y[k + j] = is_log ? y[k + j] - sum[j] : y[k + j] * sum[j];
      }
    }
  });
}

void run_columns_gradient(const SoftmaxView& view, bool is_log,
                          const float* gradient, const float* result,
                          float* target) {
  for_each_column_block(view, [&](std::int64_t offset, std::int64_t count) {
    const float *g = gradient + offset, *y = result + offset;
    float sum[kColumns] = {};
    const std::int64_t end = view.length * view.inner;
    for (std::int64_t k = 0; k < end; k += view.inner) {
      for (std::int64_t j = 0; j < count; ++j) {
        sum[j] += is_log ? g[k + j] : g[k + j] * y[k + j];
      }
    }
    float* dx = target + offset;  // may be g
    for (std::int64_t k = 0; k < end; k += view.inner) {
#pragma omp simd
      for (std::int64_t j = 0; j < count; ++j) {
        dx[k + j] = is_log ? g[k + j] - fast_exp(y[k + j]) * sum[j]
                           : y[k + j] * (g[k + j] - sum[j]);
      }
    }
  });
}

dnnl::algorithm algorithm_of(SoftmaxOperation operation) {
  return operation == SoftmaxOperation::LogSoftmax
             ? dnnl::algorithm::softmax_log
             : dnnl::algorithm::softmax_accurate;
}

Forward::primitive_desc describe_forward(const SoftmaxAttrs& attrs,
                                         const memory::desc& data) {
  return Forward::primitive_desc(engine(), prop_kind::forward_training,
                                 algorithm_of(attrs.operation), data, data,
                                 kAxis, user_scratchpad());
}

}  // namespace

void lower_softmax(NodeLowering& lowering) {
  const auto& attrs = lowering.attrs<SoftmaxAttrs>();
  const SoftmaxView view(lowering.input_shape(0), attrs.axis);
  const bool is_log = attrs.operation == SoftmaxOperation::LogSoftmax;
  const int x = lowering.read(0), y = lowering.write(0);
  lowering.may_run_in_place(0, 0);
  if (view.inner == 1) {
    const memory::desc rows = view.rows();
    return emit_primitive(lowering, describe_forward(attrs, rows),
                          {{DNNL_ARG_SRC, rows, x}, {DNNL_ARG_DST, rows, y}});
  }
  lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
    return [=, x = floats(at[x]), y = floats(at[y])] {
      run_columns(view, is_log, x, y);
    };
  });
}

void lower_softmax_gradient(NodeLowering& lowering) {
  const auto& attrs = lowering.attrs<SoftmaxAttrs>();
  const SoftmaxView view(lowering.input_shape(1), attrs.axis);
  const bool is_log = attrs.operation == SoftmaxOperation::LogSoftmax;
  const int gradient = lowering.read(0), y = lowering.read(1);
  const int dx = lowering.write(0);
  lowering.may_run_in_place(0, 0);
  if (view.inner == 1) {
    const memory::desc rows = view.rows();
    const Backward::primitive_desc backward(
        engine(), algorithm_of(attrs.operation), rows, rows, rows, kAxis,
        describe_forward(attrs, rows), user_scratchpad());
    return emit_primitive(lowering, backward,
                          {{DNNL_ARG_DIFF_DST, rows, gradient},
                           {DNNL_ARG_DST, rows, y},
                           {DNNL_ARG_DIFF_SRC, rows, dx}});
  }
  lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
    return [=, gradient = floats(at[gradient]), y = floats(at[y]),
            dx = floats(at[dx])] {
      run_columns_gradient(view, is_log, gradient, y, dx);
    };
  });
}

}  // namespace traingraph::cpu
