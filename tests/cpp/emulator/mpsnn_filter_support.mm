// SPDX-License-Identifier: MIT
#import "mpsnn_filter_support.h"

#include <cstdlib>

#include "emulator/control.h"
#import "mpsnn_support.h"

namespace {

std::uint64_t seed() {
  const char* text = std::getenv("TRAINGRAPH_TEST_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 20260101;
}

std::string label_of(id<MPSHandle> handle) {
  return [[handle label] UTF8String];
}

NSArray* nodes(NSArray<MPSNNFilterNode*>* filters) {
  NSMutableArray* results = [NSMutableArray array];
  for (MPSNNFilterNode* filter in filters) {
    [results addObject:[filter resultImage]];
  }
  return results;
}

double dot(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.data.size(); ++i) {
    sum += a.data[i] * b.data[i];
  }
  return sum;
}

}  // namespace

Tensor map(const Tensor& source, const std::function<double(double)>& f) {
  Tensor result(source.extent);
  for (std::size_t i = 0; i < result.data.size(); ++i) {
    result.data[i] = f(source.data[i]);
  }
  return result;
}

void expect_close(const Tensor& got, const Tensor& expected, double tolerance) {
  ASSERT_EQ(to_string(got.extent), to_string(expected.extent));
  for (std::size_t i = 0; i < got.data.size(); ++i) {
    const double e = expected.data[i];
    EXPECT_NEAR(got.data[i], e, tolerance * std::max(1.0, std::abs(e)))
        << "element " << i;
  }
}

FilterTest::FilterTest() : random_(seed()) {
  traces_.push_back(std::make_unique<testing::ScopedTrace>(
      __FILE__, __LINE__, "TRAINGRAPH_TEST_SEED=" + std::to_string(seed())));
}

int FilterTest::pick(int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random_);
}

Extent FilterTest::random_extent(int max_channels, int max_length) {
  return {pick(1, max_channels), pick(1, max_length), pick(1, max_length)};
}

MPSNNImageNode* FilterTest::image(const Extent& extent, double low,
                                  double high) {
  std::uniform_real_distribution<float> values(low, high);
  NSString* label = [NSString stringWithFormat:@"%d", int(values_.size())];
  Tensors& batch = values_[[label UTF8String]];
  for (int i = 0; i < kImages; ++i) {
    batch.push_back(
        tensor_of(extent, [&](auto, auto, auto) { return values(random_); }));
  }
  return [MPSNNImageNode nodeWithHandle:[TestHandle handle:label]];
}

MPSNNImageNode* FilterTest::image_of(const Extent& extent,
                                     const std::vector<double>& all) {
  MPSNNImageNode* node = image(extent);
  for (Tensor& one : values_[label_of([node handle])]) one.data = all;
  return node;
}

const Tensors& FilterTest::values(MPSNNImageNode* node) {
  return values_.at(label_of([node handle]));
}

MPSImageBatch* FilterTest::batch_of(const Tensors& images) {
  NSMutableArray* batch = [NSMutableArray array];
  for (const Tensor& one : images) {
    MPSImageDescriptor* descriptor = [MPSImageDescriptor
        imageDescriptorWithChannelFormat:MPSImageFeatureChannelFormatFloat32
                                   width:one.extent.width
                                  height:one.extent.height
                         featureChannels:one.extent.channels];
    MPSImage* image =
        [[[MPSImage alloc] initWithDevice:device_
                          imageDescriptor:descriptor] autorelease];
    const std::vector<float> floats(one.data.begin(), one.data.end());
    [image writeBytes:floats.data()
           dataLayout:MPSDataLayoutFeatureChannelsxHeightxWidth
           imageIndex:0];
    [batch addObject:image];
  }
  return batch;
}

std::vector<Tensors> FilterTest::run(NSArray<MPSNNImageNode*>* results,
                                     NSArray* states) {
  for (MPSNNImageNode* node in results) {
    [node setImageAllocator:[MPSImage defaultAllocator]];
    NSString* label = [NSString stringWithFormat:@"result %p", node];
    [node setHandle:[TestHandle handle:label]];
  }
  MPSNNGraph* graph = [MPSNNGraph graphWithDevice:device_
                                     resultImages:results
                                 resultsAreNeeded:nullptr];
  [graph setFormat:MPSImageFeatureChannelFormatFloat32];
  NSMutableArray* sources = [NSMutableArray array];
  for (id<MPSHandle> handle in [graph sourceImageHandles]) {
    [sources addObject:batch_of(values_.at(label_of(handle)))];
  }
  id<MTLCommandBuffer> buffer = command_buffer();
  NSMutableArray* batches = [NSMutableArray array];
  NSMutableArray* intermediates = [NSMutableArray array];
  @try {
    [batches addObject:[graph encodeBatchToCommandBuffer:buffer
                                            sourceImages:sources
                                            sourceStates:states
                                      intermediateImages:intermediates
                                       destinationStates:nil]];
  } @catch (NSException* exception) {
    // What was encoded before belongs to it, and it to that.
    [buffer commit];
    [buffer waitUntilCompleted];
    @throw;
  }
  // All but the first come in an order of the graph's own.
  NSArray* handles = [graph intermediateImageHandles];
  for (NSUInteger i = 1; i < [results count]; ++i) {
    const NSUInteger place =
        [handles indexOfObjectIdenticalTo:[[results objectAtIndex:i] handle]];
    [batches addObject:[intermediates objectAtIndex:place]];
  }
  [buffer commit];
  [buffer waitUntilCompleted];
  EXPECT_EQ([buffer error], nil);
  std::vector<Tensors> all;
  for (MPSImageBatch* batch in batches) {
    all.emplace_back();
    for (MPSImage* one in batch) {
      const Extent extent{std::int64_t([one featureChannels]),
                          std::int64_t([one height]),
                          std::int64_t([one width])};
      std::vector<float> floats(extent.count());
      [one readBytes:floats.data()
          dataLayout:MPSDataLayoutFeatureChannelsxHeightxWidth
          imageIndex:0];
      Tensor tensor(extent);
      tensor.data.assign(floats.begin(), floats.end());
      all.back().push_back(tensor);
    }
  }
  return all;
}

Tensors FilterTest::sources_at(NSArray<MPSNNImageNode*>* sources,
                               std::size_t image) {
  Tensors all;
  for (MPSNNImageNode* source in sources) {
    all.push_back(values(source)[image]);
  }
  return all;
}

void FilterTest::expect_forward(MPSNNFilterNode* node, const Formula& formula,
                                double tolerance) {
  const Tensors got = run([node resultImage]);
  ASSERT_EQ(got.size(), std::size_t(kImages));
  for (std::size_t i = 0; i < got.size(); ++i) {
    expect_close(got[i], formula(sources_at([node sourceImages], i)),
                 tolerance);
  }
}

MPSNNImageNode* FilterTest::incoming_of(MPSNNFilterNode* node,
                                        const Formula& formula) {
  return image(formula(sources_at([node sourceImages], 0)).extent);
}

void FilterTest::expect_filter(MPSNNFilterNode* node, const Formula& formula,
                               double tolerance) {
  expect_forward(node, formula, tolerance);
  MPSNNImageNode* incoming = incoming_of(node, formula);
  NSArray* gradients =
      [node gradientFiltersWithSources:[NSArray arrayWithObject:incoming]];
  ASSERT_EQ([gradients count], [[node sourceImages] count]);
  expect_gradients([node sourceImages], incoming, gradients, formula,
                   tolerance);
}

void FilterTest::expect_gradients(NSArray<MPSNNImageNode*>* sources,
                                  MPSNNImageNode* incoming,
                                  NSArray<MPSNNFilterNode*>* gradients,
                                  const Formula& formula, double tolerance) {
  constexpr double kStep = 1e-5;
  const std::vector<Tensors> got = run(nodes(gradients));
  for (std::size_t i = 0; i < std::size_t(kImages); ++i) {
    const Tensor& g = values(incoming)[i];
    for (NSUInteger k = 0; k < [gradients count]; ++k) {
      SCOPED_TRACE("gradient of source " + std::to_string(k));
      Tensors moved = sources_at(sources, i);
      Tensor expected(moved[k].extent);
      for (std::size_t e = 0; e < expected.data.size(); ++e) {
        double& x = moved[k].data[e];
        const double start = x;
        x = start + kStep;
        const double above = dot(formula(moved), g);
        x = start - kStep;
        const double below = dot(formula(moved), g);
        x = start;
        expected.data[e] = (above - below) / (2 * kStep);
      }
      expect_close(got[k][i], expected, tolerance);
    }
  }
}

std::string FilterTest::refusal_of(MPSNNImageNode* result) {
  return raised(^{
    run(result);
  });
}
