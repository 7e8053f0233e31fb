// SPDX-License-Identifier: MIT
// Runs nodes of MPSNN in a graph and compares them with a formula in float64,
// gradients with its central differences.
#pragma once

#import <MetalPerformanceShaders/MetalPerformanceShaders.h>

#include <functional>
#include <map>
#include <random>

#import "core_support.h"
#import "mpsnn/nodes.h"

using emulator::mpsnn::Extent;

/// A picture of doubles, and its shape.
struct Tensor {
  Extent extent;
  std::vector<double> data;

  Tensor() = default;
  explicit Tensor(const Extent& e) : extent(e), data(e.count()) {}
  double& at(std::int64_t c, std::int64_t y, std::int64_t x) {
    return data[(c * extent.height + y) * extent.width + x];
  }
  double at(std::int64_t c, std::int64_t y, std::int64_t x) const {
    return data[(c * extent.height + y) * extent.width + x];
  }
  bool has(std::int64_t y, std::int64_t x) const {
    return y >= 0 && y < extent.height && x >= 0 && x < extent.width;
  }
};
using Tensors = std::vector<Tensor>;

/// The result of a filter for one image of each source.
using Formula = std::function<Tensor(const Tensors& sources)>;

/// A tensor of value(channel, row, column).
template <class Value>
Tensor tensor_of(const Extent& extent, Value value) {
  Tensor tensor(extent);
  std::size_t i = 0;
  for (std::int64_t c = 0; c < extent.channels; ++c) {
    for (std::int64_t y = 0; y < extent.height; ++y) {
      for (std::int64_t x = 0; x < extent.width; ++x) {
        tensor.data[i++] = value(c, y, x);
      }
    }
  }
  return tensor;
}
/// Every element by itself.
Tensor map(const Tensor& source, const std::function<double(double)>& f);

class FilterTest : public CoreTest {
 protected:
  static constexpr int kImages = 2;
  static constexpr double kTolerance = 2e-5;

  FilterTest();

  int pick(int low, int high);
  Extent random_extent(int max_channels = 6, int max_length = 6);
  /// A source of the graph with random values.
  MPSNNImageNode* image(const Extent& extent, double low = -2, double high = 2);
  /// A source with these values in every image.
  MPSNNImageNode* image_of(const Extent& extent,
                           const std::vector<double>& all);
  /// The values of a source by image.
  const Tensors& values(MPSNNImageNode* node);

  /// Gives several results of one graph and one run, by image. `states` are
  /// batches of source states.
  std::vector<Tensors> run(NSArray<MPSNNImageNode*>* results,
                           NSArray* states = nil);
  Tensors run(MPSNNImageNode* result) {
    return run([NSArray arrayWithObject:result])[0];
  }

  void expect_forward(MPSNNFilterNode* node, const Formula& formula,
                      double tolerance = kTolerance);
  /// Checks the gradients of every source as well, which the plural call
  /// returns.
  void expect_filter(MPSNNFilterNode* node, const Formula& formula,
                     double tolerance = kTolerance);
  /// `gradients` are those of `sources` by `incoming`, in order.
  void expect_gradients(NSArray<MPSNNImageNode*>* sources,
                        MPSNNImageNode* incoming,
                        NSArray<MPSNNFilterNode*>* gradients,
                        const Formula& formula, double tolerance = kTolerance);
  /// What the gradients of a filter start from: random values.
  MPSNNImageNode* incoming_of(MPSNNFilterNode* node, const Formula& formula);

  /// The exception that a run of this result raises.
  std::string refusal_of(MPSNNImageNode* result);

  /// Where a value is missing.
  id nothing_ = nil;

 private:
  Tensors sources_at(NSArray<MPSNNImageNode*>* sources, std::size_t image);
  MPSImageBatch* batch_of(const Tensors& images);

  std::mt19937_64 random_;
  std::map<std::string, Tensors> values_;
  std::vector<std::unique_ptr<testing::ScopedTrace>> traces_;
};

void expect_close(const Tensor& got, const Tensor& expected, double tolerance);
