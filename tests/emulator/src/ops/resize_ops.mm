// SPDX-License-Identifier: MIT
// Resampling of images and its gradients.
#include "../arithmetic/linear.h"
#include "checks.h"

using namespace emulator;

namespace {

/// Axes of height and width.
struct Image {
  std::size_t rank, height, width;
};

Image image_of(const char* op, MPSGraphTensorNamedDataLayout layout) {
  switch (layout) {
    case MPSGraphTensorNamedDataLayoutNCHW:
      return {4, 2, 3};
    case MPSGraphTensorNamedDataLayoutNHWC:
      return {4, 1, 2};
    case MPSGraphTensorNamedDataLayoutCHW:
      return {3, 1, 2};
    case MPSGraphTensorNamedDataLayoutHWC:
      return {3, 0, 1};
    case MPSGraphTensorNamedDataLayoutHW:
      return {2, 0, 1};
    default:
      refuse(op, @"layout %ld has no images", (long)layout);
  }
}

Sampling sampling_of(const char* op, MPSGraphResizeMode mode) {
  if (mode == MPSGraphResizeBilinear) return Sampling::kBilinear;
  if (mode == MPSGraphResizeNearest) return Sampling::kRoundPreferCeil;
  refuse(op, @"unknown mode %ld", (long)mode);
}

Sampling sampling_of(const char* op, MPSGraphResizeNearestRoundingMode mode) {
  switch (mode) {
    case MPSGraphResizeNearestRoundingModeRoundPreferCeil:
      return Sampling::kRoundPreferCeil;
    case MPSGraphResizeNearestRoundingModeRoundPreferFloor:
      return Sampling::kRoundPreferFloor;
    case MPSGraphResizeNearestRoundingModeCeil:
      return Sampling::kCeil;
    case MPSGraphResizeNearestRoundingModeFloor:
      return Sampling::kFloor;
    case MPSGraphResizeNearestRoundingModeRoundToEven:
      return Sampling::kRoundToEven;
    case MPSGraphResizeNearestRoundingModeRoundToOdd:
      return Sampling::kRoundToOdd;
  }
  refuse(op, @"unknown rounding mode %ld", (long)mode);
}

void require_rank(const char* op, const Image& image, const Type& type) {
  if (type.shape.size() == image.rank) return;
  refuse(op, @"%@ does not have the rank %ld of its layout", describe(type),
         (long)image.rank);
}

std::vector<AxisTaps> resized(const Dims& from, const Dims& to,
                              const Image& image, const Resampling& how) {
  std::vector<AxisTaps> axes;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    const bool is_space = axis == image.height || axis == image.width;
    axes.push_back(is_space ? resized_axis(from[axis], to[axis], how)
                            : same_axis(from[axis]));
  }
  return axes;
}

MPSGraphTensor* add_resize(MPSGraph* graph, const char* op, NSString* name,
                           MPSGraphTensor* images, const Dims& size,
                           MPSGraphTensorNamedDataLayout layout,
                           const Resampling& how) {
  const Type type = operand(graph, op, images, Elements::kFloat);
  const Image image = image_of(op, layout);
  require_rank(op, image, type);
  if (size.size() != 2 || size[0] < 1 || size[1] < 1) {
    refuse(op, @"size %@ is not a height and a width", describe(size));
  }
  Type result = type;
  result.shape[image.height] = size[0];
  result.shape[image.width] = size[1];
  return add_operation(graph, op, name, inputs_of(op, {images}), result,
                       linear(resized(type.shape, result.shape, image, how)));
}

MPSGraphTensor* add_gradient(MPSGraph* graph, const char* op, NSString* name,
                             MPSGraphTensor* gradient, MPSGraphTensor* input,
                             MPSGraphTensorNamedDataLayout layout,
                             const Resampling& how) {
  NSArray* inputs = inputs_of(op, {gradient, input});
  const auto types = operands(graph, op, inputs, Elements::kFloat);
  const Image image = image_of(op, layout);
  require_rank(op, image, types[0]);
  Dims expected = types[0].shape;
  expected[image.height] = types[1].shape[image.height];
  expected[image.width] = types[1].shape[image.width];
  require_shape(op, @"the input's shape", expected, types[1].shape);
  const auto axes = resized(types[1].shape, types[0].shape, image, how);
  return add_operation(graph, op, name, inputs, types[1],
                       linear_gradient(axes));
}

}  // namespace

@implementation MPSGraph (MPSGraphResizeOps)

- (MPSGraphTensor*)resizeTensor:(MPSGraphTensor*)imagesTensor
                           size:(MPSShape*)size
                           mode:(MPSGraphResizeMode)mode
                   centerResult:(BOOL)centerResult
                   alignCorners:(BOOL)alignCorners
                         layout:(MPSGraphTensorNamedDataLayout)layout
                           name:(NSString*)name {
  const char* op = "resize";
  return add_resize(
      self, op, name, imagesTensor, numbers_of(op, @"size", size, 2, 1), layout,
      {sampling_of(op, mode), bool(centerResult), bool(alignCorners)});
}

- (MPSGraphTensor*)resizeWithGradientTensor:(MPSGraphTensor*)gradient
                                      input:(MPSGraphTensor*)input
                                       mode:(MPSGraphResizeMode)mode
                               centerResult:(BOOL)centerResult
                               alignCorners:(BOOL)alignCorners
                                     layout:
                                         (MPSGraphTensorNamedDataLayout)layout
                                       name:(NSString*)name {
  const char* op = "resizeGradient";
  return add_gradient(
      self, op, name, gradient, input, layout,
      {sampling_of(op, mode), bool(centerResult), bool(alignCorners)});
}

- (MPSGraphTensor*)resizeNearestWithTensor:(MPSGraphTensor*)imagesTensor
                                sizeTensor:(MPSGraphTensor*)size
                       nearestRoundingMode:(MPSGraphResizeNearestRoundingMode)
                                               nearestRoundingMode
                              centerResult:(BOOL)centerResult
                              alignCorners:(BOOL)alignCorners
                                    layout:(MPSGraphTensorNamedDataLayout)layout
                                      name:(NSString*)name {
  const char* op = "resizeNearest";
  return add_resize(self, op, name, imagesTensor,
                    constant_numbers(self, op, @"sizeTensor", size), layout,
                    {sampling_of(op, nearestRoundingMode), bool(centerResult),
                     bool(alignCorners)});
}

- (MPSGraphTensor*)
    resizeNearestWithGradientTensor:(MPSGraphTensor*)gradient
                              input:(MPSGraphTensor*)input
                nearestRoundingMode:
                    (MPSGraphResizeNearestRoundingMode)nearestRoundingMode
                       centerResult:(BOOL)centerResult
                       alignCorners:(BOOL)alignCorners
                             layout:(MPSGraphTensorNamedDataLayout)layout
                               name:(NSString*)name {
  const char* op = "resizeNearestGradient";
  return add_gradient(self, op, name, gradient, input, layout,
                      {sampling_of(op, nearestRoundingMode), bool(centerResult),
                       bool(alignCorners)});
}

- (MPSGraphTensor*)resizeBilinearWithTensor:(MPSGraphTensor*)imagesTensor
                                 sizeTensor:(MPSGraphTensor*)size
                               centerResult:(BOOL)centerResult
                               alignCorners:(BOOL)alignCorners
                                     layout:
                                         (MPSGraphTensorNamedDataLayout)layout
                                       name:(NSString*)name {
  const char* op = "resizeBilinear";
  return add_resize(
      self, op, name, imagesTensor,
      constant_numbers(self, op, @"sizeTensor", size), layout,
      {Sampling::kBilinear, bool(centerResult), bool(alignCorners)});
}

- (MPSGraphTensor*)
    resizeBilinearWithGradientTensor:(MPSGraphTensor*)gradient
                               input:(MPSGraphTensor*)input
                        centerResult:(BOOL)centerResult
                        alignCorners:(BOOL)alignCorners
                              layout:(MPSGraphTensorNamedDataLayout)layout
                                name:(NSString*)name {
  return add_gradient(
      self, "resizeBilinearGradient", name, gradient, input, layout,
      {Sampling::kBilinear, bool(centerResult), bool(alignCorners)});
}

@end
