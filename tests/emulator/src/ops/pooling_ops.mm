// SPDX-License-Identifier: MIT
// Maximum, average and L2-norm pooling with their gradients. 2-D pooling is 4-D
// pooling with windows of one element along batch and channels.
#include "../arithmetic/pooling.h"

#include "layouts.h"

using namespace emulator;

namespace {

struct Pool {
  Windows windows;
  bool counts_padding;
};

Window window_of(const char* op, const Extent& extent,
                 MPSGraphPaddingStyle style) {
  const Placement placement = place(op, extent, style);
  return {extent.source, placement.result, extent.kernel,
          extent.stride, extent.dilation,  placement.before};
}

void require_rank_4(const char* op, const Dims& source) {
  if (source.size() == 4) return;
  refuse(op, @"the source %@ must have rank 4", describe(source));
}

Pool pool_of(const char* op, const Dims& source,
             MPSGraphPooling2DOpDescriptor* d) {
  if (d == nil) refuse(op, @"the descriptor is nil");
  require_rank_4(op, source);
  const Layout at = data_layout(op, [d dataLayout]);
  const Extent y{source[at.height],
                 std::int64_t([d kernelHeight]),
                 std::int64_t([d strideInY]),
                 std::int64_t([d dilationRateInY]),
                 std::int64_t([d paddingTop]),
                 std::int64_t([d paddingBottom]),
                 bool([d ceilMode])};
  const Extent x{source[at.width],
                 std::int64_t([d kernelWidth]),
                 std::int64_t([d strideInX]),
                 std::int64_t([d dilationRateInX]),
                 std::int64_t([d paddingLeft]),
                 std::int64_t([d paddingRight]),
                 bool([d ceilMode])};
  Pool pool{{}, bool([d includeZeroPadToAverage])};
  for (std::size_t axis = 0; axis < 4; ++axis) {
    pool.windows[axis] = {source[axis], source[axis]};
  }
  pool.windows[at.height] = window_of(op, y, [d paddingStyle]);
  pool.windows[at.width] = window_of(op, x, [d paddingStyle]);
  return pool;
}

Pool pool_of(const char* op, const Dims& source,
             MPSGraphPooling4DOpDescriptor* d) {
  if (d == nil) refuse(op, @"the descriptor is nil");
  require_rank_4(op, source);
  const Dims kernel = numbers_of(op, @"kernelSizes", [d kernelSizes], 4, 1);
  const Dims strides = numbers_of(op, @"strides", [d strides], 4, 1);
  const Dims dilation =
      numbers_of(op, @"dilationRates", [d dilationRates], 4, 1);
  const Dims padding =
      numbers_of(op, @"paddingValues", [d paddingValues], 8, 0);
  Pool pool{{}, bool([d includeZeroPadToAverage])};
  for (std::size_t axis = 0; axis < 4; ++axis) {
    const Extent extent{source[axis],      kernel[axis],
                        strides[axis],     dilation[axis],
                        padding[2 * axis], padding[2 * axis + 1],
                        bool([d ceilMode])};
    pool.windows[axis] = window_of(op, extent, [d paddingStyle]);
  }
  return pool;
}

std::vector<AxisTaps> averages(const Pool& pool) {
  std::vector<AxisTaps> axes;
  for (const Window& window : pool.windows) {
    axes.push_back(averaged_axis(window, pool.counts_padding));
  }
  return axes;
}

Kernel max_of(const Pool& pool) { return max_pool(pool.windows); }
Kernel max_gradient_of(const Pool& pool) {
  return max_pool_gradient(pool.windows);
}
Kernel average_of(const Pool& pool) { return linear(averages(pool)); }
Kernel average_gradient_of(const Pool& pool) {
  return linear_gradient(averages(pool));
}
Kernel norm_of(const Pool& pool) { return l2_norm_pool(pool.windows); }
Kernel norm_gradient_of(const Pool& pool) {
  return l2_norm_pool_gradient(pool.windows);
}

Dims result_of(const Pool& pool) {
  Dims dims;
  for (const Window& window : pool.windows) dims.push_back(window.result);
  return dims;
}

template <class Descriptor>
MPSGraphTensor* add_pool(MPSGraph* graph, const char* op, NSString* name,
                         MPSGraphTensor* source, Descriptor* descriptor,
                         Kernel (*kernel_of)(const Pool&)) {
  const Type type = operand(graph, op, source, Elements::kFloat);
  const Pool pool = pool_of(op, type.shape, descriptor);
  return add_operation(graph, op, name, inputs_of(op, {source}),
                       Type{type.data_type, result_of(pool)}, kernel_of(pool));
}

template <class Descriptor>
MPSGraphTensor* add_gradient(MPSGraph* graph, const char* op, NSString* name,
                             MPSGraphTensor* gradient, MPSGraphTensor* source,
                             Descriptor* descriptor,
                             Kernel (*kernel_of)(const Pool&)) {
  NSArray* inputs = inputs_of(op, {gradient, source});
  const auto types = operands(graph, op, inputs, Elements::kFloat);
  const Pool pool = pool_of(op, types[1].shape, descriptor);
  require_shape(op, @"the incoming gradient's shape", result_of(pool),
                types[0].shape);
  return add_operation(graph, op, name, inputs, types[1], kernel_of(pool));
}

}  // namespace

#define POOLING(OP, DESCRIPTOR, FORWARD, BACKWARD)                    \
  -EMULATED_POOLING(OP, DESCRIPTOR) {                                 \
    return add_pool(self, #OP, name, source, descriptor, FORWARD);    \
  }                                                                   \
  -EMULATED_POOLING_GRADIENT(OP, DESCRIPTOR) {                        \
    return add_gradient(self, #OP "Gradient", name, gradient, source, \
                        descriptor, BACKWARD);                        \
  }

@implementation MPSGraph (MPSGraphPoolingOps)

// clang-format off
POOLING(maxPooling2D, MPSGraphPooling2DOpDescriptor, max_of, max_gradient_of)
POOLING(avgPooling2D, MPSGraphPooling2DOpDescriptor, average_of,
        average_gradient_of)
POOLING(maxPooling4D, MPSGraphPooling4DOpDescriptor, max_of, max_gradient_of)
POOLING(avgPooling4D, MPSGraphPooling4DOpDescriptor, average_of,
        average_gradient_of)
POOLING(L2NormPooling4D, MPSGraphPooling4DOpDescriptor, norm_of,
        norm_gradient_of)
// clang-format on

@end
