// SPDX-License-Identifier: MIT
#import "mpsnn_support.h"

#include <cstring>

#include "emulator/control.h"
#import "mpsnn/states.h"
#import "objects.h"
#import "retained.h"

@implementation TestHandle
+ (instancetype)handle:(NSString*)label {
  TestHandle* handle = [[self new] autorelease];
  handle->_label = [label copy];
  return handle;
}
- (void)dealloc {
  [_label release];
  [super dealloc];
}
- (NSString*)label {
  return _label;
}
@end

@implementation TestConvolution
+ (instancetype)sourceWith:(MPSCNNConvolutionDescriptor*)descriptor
                   weights:(std::vector<float>)weights
                    biases:(std::vector<float>)biases {
  TestConvolution* source = [[self new] autorelease];
  source->_descriptor = [descriptor retain];
  source->_weights = new std::vector<float>(std::move(weights));
  source->_biases = new std::vector<float>(std::move(biases));
  source->_kernelType = MPSDataTypeFloat32;
  source->_loads = YES;
  return source;
}
- (void)dealloc {
  [_descriptor release];
  delete _weights;
  delete _biases;
  [super dealloc];
}
- (void)requireLoaded {
  EXPECT_GT(_loadCount, _purgeCount);
}
- (MPSDataType)dataType {
  [self requireLoaded];
  return MPSDataTypeFloat32;
}
- (MPSCNNConvolutionDescriptor*)descriptor {
  [self requireLoaded];
  return _descriptor;
}
- (void*)weights {
  [self requireLoaded];
  return _weights->data();
}
- (float*)biasTerms {
  [self requireLoaded];
  return _biases->empty() ? nullptr : _biases->data();
}
- (BOOL)load {
  if (_loads) ++_loadCount;
  return _loads;
}
- (void)purge {
  ++_purgeCount;
}
- (NSString*)label {
  return @"test";
}
- (MPSDataType)kernelWeightsDataType {
  return _kernelType;
}
- (id)copyWithZone:(NSZone*)zone {
  (void)zone;
  return [self retain];
}
@end

namespace {

/// to = from - 0.5 * gradient
void step(float* to, const float* from, const float* gradient,
          std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = from[i] - 0.5f * gradient[i];
}

void step(id<MTLBuffer> to, id<MTLBuffer> from, id<MTLBuffer> gradient) {
  step(reinterpret_cast<float*>(emulator::device_bytes(to)),
       reinterpret_cast<float*>(emulator::device_bytes(from)),
       reinterpret_cast<float*>(emulator::device_bytes(gradient)),
       [to length] / sizeof(float));
}

}  // namespace

@implementation TestGpuConvolution
- (MPSCNNConvolutionWeightsAndBiasesState*)
    updateWithCommandBuffer:(id<MTLCommandBuffer>)buffer
              gradientState:(MPSCNNConvolutionGradientState*)gradient
                sourceState:(MPSCNNConvolutionWeightsAndBiasesState*)source {
  ++_updateCount;
  auto* result = [MPSCNNConvolutionWeightsAndBiasesState
      temporaryCNNConvolutionWeightsAndBiasesStateWithCommandBuffer:buffer
                                           cnnConvolutionDescriptor:
                                               _descriptor];
  id<MTLBuffer> pairs[] = {[result weights],
                           [result biases],
                           [source weights],
                           [source biases],
                           [gradient gradientForWeights],
                           [gradient gradientForBiases]};
  std::vector<emulator::Retained<id<MTLBuffer>>> kept;
  for (id<MTLBuffer> one : pairs) kept.emplace_back(one);
  emulator::record("test", buffer, [kept] {
    step(kept[0].get(), kept[2].get(), kept[4].get());
    step(kept[1].get(), kept[3].get(), kept[5].get());
    return 0;
  });
  if ([gradient isTemporary]) [gradient setReadCount:[gradient readCount] - 1];
  if ([source isTemporary]) [source setReadCount:[source readCount] - 1];
  return result;
}
@end

@implementation TestCpuConvolution
- (BOOL)updateWithGradientState:(MPSCNNConvolutionGradientState*)gradient
                    sourceState:
                        (MPSCNNConvolutionWeightsAndBiasesState*)source {
  ++_updateCount;
  auto floats = [](id<MTLBuffer> buffer) {
    return static_cast<float*>([buffer contents]);
  };
  step(_weights->data(), floats([source weights]),
       floats([gradient gradientForWeights]), _weights->size());
  step(_biases->data(), floats([source biases]),
       floats([gradient gradientForBiases]), _biases->size());
  return YES;
}
@end

MPSImage* MpsnnTest::image(Size size, const std::vector<float>& values) {
  EXPECT_EQ(values.size(), std::size_t(size.count()));
  MPSImageDescriptor* descriptor = [MPSImageDescriptor
      imageDescriptorWithChannelFormat:MPSImageFeatureChannelFormatFloat32
                                 width:size.width
                                height:size.height
                       featureChannels:size.channels];
  MPSImage* image = [[[MPSImage alloc] initWithDevice:device_
                                      imageDescriptor:descriptor] autorelease];
  [image writeBytes:values.data()
         dataLayout:MPSDataLayoutFeatureChannelsxHeightxWidth
         imageIndex:0];
  return image;
}

MPSImageBatch* MpsnnTest::batch(Size size,
                                const std::vector<std::vector<float>>& all) {
  NSMutableArray* images = [NSMutableArray array];
  for (const auto& one : all) [images addObject:image(size, one)];
  return images;
}

std::vector<float> MpsnnTest::values(MPSImage* image) {
  const std::size_t count =
      [image featureChannels] * [image height] * [image width];
  const auto layout = MPSDataLayoutFeatureChannelsxHeightxWidth;
  std::vector<float> floats(count);
  if ([image featureChannelFormat] == MPSImageFeatureChannelFormatFloat32) {
    [image readBytes:floats.data() dataLayout:layout imageIndex:0];
    return floats;
  }
  std::vector<_Float16> halves(count);
  [image readBytes:halves.data() dataLayout:layout imageIndex:0];
  return {halves.begin(), halves.end()};
}

std::vector<std::vector<float>> MpsnnTest::values(MPSImageBatch* batch) {
  std::vector<std::vector<float>> all;
  for (MPSImage* image in batch) all.push_back(values(image));
  return all;
}

std::vector<float> MpsnnTest::random(int count, float low, float high) {
  std::uniform_real_distribution<float> pick(low, high);
  std::vector<float> floats(count);
  for (float& x : floats) x = pick(random_);
  return floats;
}

std::vector<std::vector<float>> MpsnnTest::random_batch(int images, Size size) {
  std::vector<std::vector<float>> all;
  for (int i = 0; i < images; ++i) all.push_back(random(size.count()));
  return all;
}

MPSNNGraph* MpsnnTest::graph(MPSNNImageNode* result) {
  return graph([NSArray arrayWithObject:result]);
}

MPSNNGraph* MpsnnTest::graph(NSArray<MPSNNImageNode*>* results) {
  MPSNNGraph* made = [MPSNNGraph graphWithDevice:device_
                                    resultImages:results
                                resultsAreNeeded:nullptr];
  [made setFormat:MPSImageFeatureChannelFormatFloat32];
  return made;
}

NSArray* MpsnnTest::ordered(
    MPSNNGraph* graph, const std::map<std::string, MPSImageBatch*>& images) {
  NSMutableArray* list = [NSMutableArray array];
  for (const std::string& label : labels([graph sourceImageHandles])) {
    auto found = images.find(label);
    EXPECT_NE(found, images.end()) << label;
    if (found != images.end()) [list addObject:found->second];
  }
  return list;
}

std::vector<std::string> MpsnnTest::labels(NSArray<id<MPSHandle>>* handles) {
  std::vector<std::string> all;
  for (id<MPSHandle> handle in handles) {
    NSString* label = [handle label];
    all.push_back(label ? [label UTF8String] : "");
  }
  return all;
}

MPSImageBatch* MpsnnTest::run(
    MPSNNGraph* graph, const std::map<std::string, MPSImageBatch*>& images,
    NSMutableArray* intermediates, NSMutableArray* states) {
  id<MTLCommandBuffer> buffer = command_buffer();
  MPSImageBatch* result =
      [graph encodeBatchToCommandBuffer:buffer
                           sourceImages:ordered(graph, images)
                           sourceStates:nil
                     intermediateImages:intermediates
                      destinationStates:states];
  [buffer commit];
  emulator::wait_until_idle();
  EXPECT_EQ([buffer error], nil);
  return result;
}

double dot(const std::vector<std::vector<float>>& a,
           const std::vector<std::vector<float>>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a[i].size(); ++j) {
      sum += double(a[i][j]) * b[i][j];
    }
  }
  return sum;
}
