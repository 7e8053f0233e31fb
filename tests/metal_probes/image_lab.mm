// SPDX-License-Identifier: MIT
#import "tests/metal_probes/image_lab.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#import "metal/mpsnn/image_handle.h"

namespace traingraph::metal::probes {
namespace {

int value_of(id<MPSHandle> handle) { return [(TGImageHandle*)handle value]; }

[[noreturn]] void fail(NSString* reason) {
  [NSException raise:@"ProbeFailed" format:@"%@", reason];
  __builtin_unreachable();
}

MPSCommandBuffer* new_commands() {
  return [MPSCommandBuffer commandBufferFromCommandQueue:machine().queue.get()];
}

ObjcPtr<MPSMatrix*> matrix_of(id<MTLBuffer> buffer, NSUInteger rows) {
  const NSUInteger columns = [buffer length] / sizeof(float) / rows;
  return adopt([[MPSMatrix alloc]
      initWithBuffer:buffer
          descriptor:[MPSMatrixDescriptor
                         matrixDescriptorWithRows:rows
                                          columns:columns
                                         rowBytes:columns * sizeof(float)
                                         dataType:MPSDataTypeFloat32]]);
}

/// Encodes a copy of these images into a buffer.
ObjcPtr<id<MTLBuffer>> encode_copy(MPSCommandBuffer* commands,
                                   MPSImageBatch* images) {
  MPSImage* first = [images objectAtIndex:0];
  const auto buffer =
      make_buffer([images count] * [first featureChannels] * [first height] *
                  [first width] * sizeof(float));
  const auto copy = adopt([[MPSImageCopyToMatrix alloc]
      initWithDevice:machine().metal.get()
          dataLayout:MPSDataLayoutFeatureChannelsxHeightxWidth]);
  [copy.get()
      encodeBatchToCommandBuffer:commands
                    sourceImages:images
               destinationMatrix:matrix_of(buffer.get(), [images count]).get()];
  return buffer;
}

Numbers all_of(id<MTLBuffer> buffer) {
  return numbers_in(buffer, [buffer length] / sizeof(float));
}

}  // namespace

NSObject<MPSHandle>* ImageLab::next_handle() {
  return [TGImageHandle handleOfValue:++num_handles_];
}

ObjcPtr<MPSImageBatch*> ImageLab::images(const Numbers& values,
                                         const ImageShape& shape) {
  MPSImageDescriptor* descriptor = [MPSImageDescriptor
      imageDescriptorWithChannelFormat:MPSImageFeatureChannelFormatFloat32
                                 width:shape[3]
                                height:shape[2]
                       featureChannels:shape[1]];
  NSMutableArray* batch = [NSMutableArray array];
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    const auto image =
        adopt([[MPSImage alloc] initWithDevice:machine().metal.get()
                               imageDescriptor:descriptor]);
    if (!image.get()) fail(@"no image");
    [batch addObject:image.get()];
  }
  const auto buffer = make_buffer(values.size() * sizeof(float));
  std::memcpy([buffer.get() contents], values.data(),
              values.size() * sizeof(float));
  const auto copy = adopt([[MPSMatrixCopyToImage alloc]
      initWithDevice:machine().metal.get()
          dataLayout:MPSDataLayoutFeatureChannelsxHeightxWidth]);
  MPSCommandBuffer* commands = new_commands();
  [copy.get() encodeBatchToCommandBuffer:commands
                            sourceMatrix:matrix_of(buffer.get(), shape[0]).get()
                       destinationImages:batch];
  commit_and_wait(commands);
  return retain((MPSImageBatch*)batch);
}

MPSNNImageNode* ImageLab::input(const Numbers& values,
                                const ImageShape& shape) {
  NSObject<MPSHandle>* handle = next_handle();
  images_[num_handles_] = images(values, shape);
  return [MPSNNImageNode nodeWithHandle:handle];
}

void ImageLab::set_labels(MPSCNNLossNode* loss, const Numbers& values,
                          const ImageShape& shape) {
  NSMutableArray* states = [NSMutableArray array];
  const auto batch = images(values, shape);
  for (MPSImage* labels in batch.get()) {
    const auto state =
        adopt([[MPSCNNLossLabels alloc] initWithDevice:machine().metal.get()
                                         lossImageSize:MTLSizeMake(1, 1, 1)
                                           labelsImage:labels
                                          weightsImage:nil]);
    [states addObject:state.get()];
  }
  [[loss inputLabels] setHandle:next_handle()];
  labels_[num_handles_] = retain((MPSStateBatch*)states);
}

std::vector<Numbers> ImageLab::run(
    const std::vector<MPSNNFilterNode*>& results,
    const std::vector<MPSNNFilterNode*>& exported) {
  NSMutableArray<MPSNNImageNode*>* nodes = [NSMutableArray array];
  const auto needed = std::make_unique<BOOL[]>(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    MPSNNImageNode* node = [results[i] resultImage];
    [node setHandle:next_handle()];
    results_.push_back(num_handles_);
    [nodes addObject:node];
    needed[i] = YES;
  }
  for (MPSNNFilterNode* filter : exported) {
    [[filter resultImage] setHandle:next_handle()];
    [[filter resultImage] setExportFromGraph:YES];
    results_.push_back(num_handles_);
  }
  graph_ = adopt([[MPSNNGraph alloc] initWithDevice:machine().metal.get()
                                       resultImages:nodes
                                   resultsAreNeeded:needed.get()]);
  if (!graph_.get()) fail(@"MPSNN made no graph of these filters");
  [graph_.get() setFormat:MPSImageFeatureChannelFormatFloat32];
  return run_again();
}

std::vector<Numbers> ImageLab::run_again() {
  commands_ = retain(new_commands());
  const auto buffers = encode();
  commit_and_wait(commands_.get());
  commands_ = {};
  std::vector<Numbers> numbers;
  for (const auto& buffer : buffers) numbers.push_back(all_of(buffer.get()));
  return numbers;
}

std::vector<ObjcPtr<id<MTLBuffer>>> ImageLab::encode() {
  NSMutableArray<MPSImageBatch*>* sources = [NSMutableArray array];
  for (id<MPSHandle> handle in [graph_.get() sourceImageHandles]) {
    [sources addObject:images_.at(value_of(handle)).get()];
  }
  NSMutableArray<MPSStateBatch*>* states = [NSMutableArray array];
  for (id<MPSHandle> handle in [graph_.get() sourceStateHandles]) {
    [states addObject:labels_.at(value_of(handle)).get()];
  }
  NSMutableArray<MPSImageBatch*>* others = [NSMutableArray array];
  MPSImageBatch* first =
      [graph_.get() encodeBatchToCommandBuffer:commands_.get()
                                  sourceImages:sources
                                  sourceStates:states
                            intermediateImages:others
                             destinationStates:nil];
  if (!first) fail(@"MPSNN returned no result");
  NSArray<id<MPSHandle>>* handles = [graph_.get() intermediateImageHandles];
  std::vector<ObjcPtr<id<MTLBuffer>>> buffers;
  for (const int result : results_) {
    MPSImageBatch* images = buffers.empty() ? first : nil;
    for (NSUInteger i = 0; i < [handles count] && !images; ++i) {
      if (value_of([handles objectAtIndex:i]) == result) {
        images = [others objectAtIndex:i];
      }
    }
    if (!images) fail(@"a result is missing");
    buffers.push_back(encode_copy(commands_.get(), images));
  }
  return buffers;
}

MPSCommandBuffer* ImageLab::commands_for(id<MTLCommandBuffer> given) const {
  const bool is_ours =
      given == (id)commands_.get() || given == [commands_.get() commandBuffer];
  return is_ours ? commands_.get()
                 : [MPSCommandBuffer commandBufferWithCommandBuffer:given];
}

Numbers resized(const Numbers& x, Position position, int count) {
  Numbers y;
  const auto n = static_cast<float>(x.size());
  for (int i = 0; i < count; ++i) {
    const float at =
        std::fmin(std::fmax(position(float(i), n, float(count)), 0.0F), n - 1);
    const auto left = static_cast<std::size_t>(std::fmin(at, n - 2));
    const float share = at - static_cast<float>(left);
    y.push_back(x[left] * (1 - share) + x[left + 1] * share);
  }
  return y;
}

Numbers numbers_of(MPSImageBatch* images) {
  MPSCommandBuffer* commands = new_commands();
  const auto buffer = encode_copy(commands, images);
  commit_and_wait(commands);
  return all_of(buffer.get());
}

ObjcPtr<id<MTLBuffer>> copy_for_host(id<MTLCommandBuffer> commands,
                                     id<MTLBuffer> from) {
  if (!from) fail(@"there is no buffer");
  const auto copy = make_buffer([from length]);
  id<MTLBlitCommandEncoder> blit = [commands blitCommandEncoder];
  [blit copyFromBuffer:from
           sourceOffset:0
               toBuffer:copy.get()
      destinationOffset:0
                   size:[from length]];
  [blit endEncoding];
  return copy;
}

}  // namespace traingraph::metal::probes
