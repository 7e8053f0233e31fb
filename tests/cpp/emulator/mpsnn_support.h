// SPDX-License-Identifier: MIT
// What the tests of MPSNN's classes share.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#import "core_support.h"

/// A handle is its label.
@interface TestHandle : TestCallback <MPSHandle> {
  NSString* _label;
}
+ (instancetype)handle:(NSString*)label;
@end

/// Weights that do what the test says, and count what they are asked.
@interface TestConvolution : NSObject <MPSCNNConvolutionDataSource> {
 @public
  MPSCNNConvolutionDescriptor* _descriptor;
  std::vector<float>* _weights;
  std::vector<float>* _biases;
  MPSDataType _kernelType;
  BOOL _loads;
  int _loadCount, _purgeCount, _updateCount;
}
+ (instancetype)sourceWith:(MPSCNNConvolutionDescriptor*)descriptor
                   weights:(std::vector<float>)weights
                    biases:(std::vector<float>)biases;
@end

/// weights -= 0.5 * gradient, by kernels that run with the command buffer.
@interface TestGpuConvolution : TestConvolution
@end

/// Learns after the command buffer.
@interface TestCpuConvolution : TestConvolution
@end

struct Size {
  int channels, height, width;
  int count() const { return channels * height * width; }
};

class MpsnnTest : public CoreTest {
 protected:
  MPSNNImageNode* input(NSString* name) {
    return [MPSNNImageNode nodeWithHandle:[TestHandle handle:name]];
  }
  /// Values: channels, rows, columns.
  MPSImage* image(Size size, const std::vector<float>& values);
  MPSImageBatch* batch(Size size, const std::vector<std::vector<float>>& all);
  static std::vector<float> values(MPSImage* image);
  static std::vector<std::vector<float>> values(MPSImageBatch* batch);
  std::vector<float> random(int count, float low = -1, float high = 1);
  std::vector<std::vector<float>> random_batch(int images, Size size);

  /// Makes a graph that computes in float32.
  MPSNNGraph* graph(MPSNNImageNode* result);
  MPSNNGraph* graph(NSArray<MPSNNImageNode*>* results);
  /// Encodes and waits until it is done, handlers included.
  MPSImageBatch* run(MPSNNGraph* graph,
                     const std::map<std::string, MPSImageBatch*>& images,
                     NSMutableArray* intermediates = nil,
                     NSMutableArray* states = nil);
  static NSArray* ordered(MPSNNGraph* graph,
                          const std::map<std::string, MPSImageBatch*>& images);
  static std::vector<std::string> labels(NSArray<id<MPSHandle>>* handles);

  std::mt19937 random_{7};
};

/// sum(a * b)
double dot(const std::vector<std::vector<float>>& a,
           const std::vector<std::vector<float>>& b);
