// SPDX-License-Identifier: MIT
// Convolution and its gradients, in tiles of images, rows and columns where
// there are more of these than MPSGraph gets right.
#include "metal/convolution_tiles.h"
#import "metal/ops/conv_call.h"
#import "metal/ops/layout_moves.h"

namespace traingraph::metal {
namespace {

/// Some of an axis of images, in memory of their own.
T cut(GraphBuilder& b, T images, int axis, const Tile& tile,
      std::int64_t extent) {
  if (tile.length == extent) return images;
  return b.written(slice_axis(b, images, axis, tile.start, tile.length));
}

struct Axes {
  template <class Attrs>
  Axes(const Attrs& attrs, const Shape& image, const Shape& weights,
       const Shape& result)
      : rows(axis(attrs, 0, image, weights, result)),
        columns(axis(attrs, 1, image, weights, result)) {}

  template <class Attrs>
  static ConvolutionAxis axis(const Attrs& attrs, int i, const Shape& image,
                              const Shape& weights, const Shape& result) {
    return {.image = image[2 + i],
            .kernel = weights[2 + i],
            .stride = attrs.strides[i],
            .dilation = attrs.dilation_rates[i],
            .before = attrs.padding[2 * i],
            .after = attrs.padding[2 * i + 1],
            .result = result[2 + i]};
  }

  ConvolutionAxis rows, columns;
};

/// What a call computed of the gradient by an image.
T part_of(GraphBuilder& b, T images, int axis, const ImageTile& tile) {
  if (tile.computed == tile.image.length) return images;
  return slice_axis(b, images, axis, tile.skipped, tile.image.length);
}

Padding padding_of(const WindowTile& rows, const WindowTile& columns) {
  return {rows.before, rows.after, columns.before, columns.after};
}

T zeros(GraphBuilder& b, const Shape& shape) {
  return b.broadcast(b.scalar(0, b.compute_type()), shape);
}

}  // namespace

void lower_convolution_2d(GraphBuilder& b) {
  const auto& attrs = b.attrs<Convolution2dAttrs>();
  const Shape &image = b.input_shape(0), &weights = b.input_shape(1);
  const Shape& result = b.result_shape();
  const Axes axes(attrs, image, weights, result);
  const ConvolutionCall call(b, attrs, weights);
  T w = b.weights(1);
  const std::int64_t most = b.limits().max_convolution_extent;
  const std::int64_t any = b.limits().max_elements;

  NSMutableArray<MPSGraphTensor*>* all = [NSMutableArray array];
  for (const Tile& images : tiles_of(image[0], most)) {
    T x = cut(b, b.input(0), 0, images, image[0]);
    NSMutableArray<MPSGraphTensor*>* rows = [NSMutableArray array];
    for (const WindowTile& row : window_tiles(axes.rows, most, any)) {
      T x_rows = row.image.length ? cut(b, x, 2, row.image, image[2]) : nil;
      NSMutableArray<MPSGraphTensor*>* columns = [NSMutableArray array];
      for (const WindowTile& column : window_tiles(axes.columns, most, any)) {
        if (!x_rows || column.image.length == 0) {
          [columns
              addObject:zeros(b, {images.length, result[1], row.windows.length,
                                  column.windows.length})];
          continue;
        }
        T part = cut(b, x_rows, 3, column.image, image[3]);
        const Shape shape{images.length, image[1], row.image.length,
                          column.image.length};
        [columns
            addObject:call.result(part, shape, w, padding_of(row, column))];
      }
      [rows addObject:concatenate(b, columns, 3)];
    }
    [all addObject:concatenate(b, rows, 2)];
  }
  T y = concatenate(b, all, 0);
  if (b.has(2)) y = b.add(y, b.reshape(b.input(2), {1, result[1], 1, 1}));
  b.set(y);
}

void lower_convolution_2d_input_gradient(GraphBuilder& b) {
  const auto& attrs = b.attrs<Convolution2dGradientAttrs>();
  const Shape &result = b.input_shape(0), &weights = b.input_shape(1);
  const Shape& image = attrs.shape;
  const Axes axes(attrs, image, weights, result);
  const ConvolutionCall call(b, attrs, weights);
  T w = b.weights(1);
  const std::int64_t most = b.limits().max_gradient_extent;
  const auto row_tiles = image_tiles(axes.rows, most);
  const auto column_tiles = image_tiles(axes.columns, most);

  NSMutableArray<MPSGraphTensor*>* all = [NSMutableArray array];
  for (const Tile& images : tiles_of(image[0], most)) {
    T g = cut(b, b.input(0), 0, images, result[0]);
    NSMutableArray<MPSGraphTensor*>* rows = [NSMutableArray array];
    for (const ImageTile& row : row_tiles) {
      T g_rows = cut(b, g, 2, row.windows, result[2]);
      NSMutableArray<MPSGraphTensor*>* columns = [NSMutableArray array];
      for (const ImageTile& column : column_tiles) {
        T part = call.input_gradient(
            cut(b, g_rows, 3, column.windows, result[3]), w,
            {images.length, image[1], row.computed, column.computed},
            {row.before, row.after, column.before, column.after});
        part = part_of(b, part, 2, row);
        [columns addObject:part_of(b, part, 3, column)];
      }
      [rows addObject:concatenate(b, columns, 3)];
    }
    [all addObject:concatenate(b, rows, 2)];
  }
  b.set(concatenate(b, all, 0));
}

void lower_convolution_2d_weights_gradient(GraphBuilder& b) {
  const auto& attrs = b.attrs<Convolution2dGradientAttrs>();
  const Shape &result = b.input_shape(0), &image = b.input_shape(1);
  const Axes axes(attrs, image, attrs.shape, result);
  const ConvolutionCall call(b, attrs, attrs.shape);
  const std::int64_t most = b.limits().max_gradient_extent;

  T sum = nil;
  for (const Tile& images : tiles_of(image[0], most)) {
    T g = cut(b, b.input(0), 0, images, image[0]);
    T x = cut(b, b.input(1), 0, images, image[0]);
    for (const WindowTile& row : window_tiles(axes.rows, most, most)) {
      if (row.image.length == 0) continue;
      T g_rows = cut(b, g, 2, row.windows, result[2]);
      T x_rows = cut(b, x, 2, row.image, image[2]);
      for (const WindowTile& column : window_tiles(axes.columns, most, most)) {
        if (column.image.length == 0) continue;
        T dw = call.weights_gradient(
            cut(b, g_rows, 3, column.windows, result[3]),
            cut(b, x_rows, 3, column.image, image[3]),
            {images.length, image[1], row.image.length, column.image.length},
            padding_of(row, column));
        sum = sum ? b.add(sum, dw) : dw;
      }
    }
  }
  b.set(sum ? sum : zeros(b, attrs.shape));
}

}  // namespace traingraph::metal
