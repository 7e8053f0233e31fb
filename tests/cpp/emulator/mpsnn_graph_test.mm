// SPDX-License-Identifier: MIT
// MPSNNGraph: what it needs, in which order, when it runs, and what it refuses.
#include <algorithm>
#include <set>

#include "emulator/control.h"
#import "mpsnn/nodes.h"
#import "mpsnn_support.h"

namespace {

/// a * x + b * first source, with a state that its gradient reads.
struct ScaleState : emulator::mpsnn::FilterState {
  float scale = 0;
};

struct Scale : emulator::mpsnn::FilterKernel {
  float scale;
  explicit Scale(float s) : scale(s) {}
  std::shared_ptr<emulator::mpsnn::FilterState> make_state(
      const emulator::mpsnn::StateRequest&) override {
    return std::make_shared<ScaleState>();
  }
  void run(emulator::mpsnn::FilterRun& run) override {
    if (auto* state = run.own_state<ScaleState>()) state->scale = scale;
    for (std::size_t n = 0; n < run.result->size(); ++n) {
      auto& result = (*run.result)[n].data;
      for (const auto* source : run.sources) {
        for (std::size_t i = 0; i < result.size(); ++i) {
          result[i] += scale * (*source)[n].data[i];
        }
      }
    }
  }
};

struct ScaleGradient : emulator::mpsnn::GradientKernel {
  void run(emulator::mpsnn::FilterRun& run) override {
    const float scale = run.state<ScaleState>(0).scale;
    for (std::size_t n = 0; n < run.result->size(); ++n) {
      auto& result = (*run.result)[n].data;
      for (std::size_t i = 0; i < result.size(); ++i) {
        result[i] = scale * (*run.sources[0])[n].data[i];
      }
    }
  }
};

}  // namespace

@interface TestScaleGradientNode : MPSNNGradientFilterNode
@end

@implementation TestScaleGradientNode
- (std::shared_ptr<emulator::mpsnn::FilterKernel>)makeKernel:
    (emulator::mpsnn::GraphBuild&)build {
  (void)build;
  return std::make_shared<ScaleGradient>();
}
@end

/// scale * the sum of its sources
@interface TestScaleNode : MPSNNFilterNode {
 @public
  float _scale;
}
+ (instancetype)nodeWithSources:(NSArray*)sources scale:(float)scale;
@end

@implementation TestScaleNode
+ (instancetype)nodeWithSources:(NSArray*)sources scale:(float)scale {
  TestScaleNode* node = [[[self alloc] initWithSources:sources
                                                states:nil] autorelease];
  node->_scale = scale;
  return node;
}
- (std::shared_ptr<emulator::mpsnn::FilterKernel>)makeKernel:
    (emulator::mpsnn::GraphBuild&)build {
  (void)build;
  return std::make_shared<Scale>(_scale);
}
- (NSArray*)makeGradientNodes:(MPSNNImageNode*)gradient {
  NSMutableArray* nodes = [NSMutableArray array];
  for (MPSNNImageNode* source in [self sourceImages]) {
    [nodes
        addObject:[[[TestScaleGradientNode alloc]
                      initWithSourceGradient:gradient
                                 sourceImage:source
                                       state:[self resultState]] autorelease]];
  }
  return nodes;
}
@end

namespace {

constexpr Size kOne{1, 1, 1};

class MpsnnGraphTest : public MpsnnTest {
 protected:
  TestScaleNode* scale(MPSNNImageNode* source, float factor) {
    return [TestScaleNode nodeWithSources:[NSArray arrayWithObject:source]
                                    scale:factor];
  }
  TestScaleNode* add(NSArray* sources) {
    return [TestScaleNode nodeWithSources:sources scale:1];
  }
  MPSImageBatch* one(float value) { return batch(kOne, {{value}}); }
  float value(MPSImageBatch* images) { return values(images)[0][0]; }
  TestScaleNode* weighted_sum() {
    return add([NSArray arrayWithObjects:[scale(input(@"a"), 1) resultImage],
                                         [scale(input(@"b"), 10) resultImage],
                                         [scale(input(@"c"), 100) resultImage],
                                         nil]);
  }
};

TEST_F(MpsnnGraphTest, SourcesComeInAnOrderOfItsOwn) {
  MPSNNGraph* made = graph([weighted_sum() resultImage]);
  const auto order = labels([made sourceImageHandles]);
  EXPECT_NE(order, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(std::set<std::string>(order.begin(), order.end()),
            (std::set<std::string>{"a", "b", "c"}));
  EXPECT_EQ(labels([graph([weighted_sum() resultImage]) sourceImageHandles]),
            order);
  MPSImageBatch* y = run(made, {{"a", one(1)}, {"b", one(2)}, {"c", one(3)}});
  EXPECT_EQ(value(y), 321);
}

TEST_F(MpsnnGraphTest, IsASnapshotOfItsNodes) {
  NSAutoreleasePool* pool = [NSAutoreleasePool new];
  TestScaleNode* node = scale(input(@"x"), 3);
  MPSNNGraph* made = [graph([node resultImage]) retain];
  node->_scale = 5;
  [pool release];
  EXPECT_EQ(value(run(made, {{"x", one(2)}})), 6);
  [made release];
}

TEST_F(MpsnnGraphTest, ImageNodesKeepTheirFilters) {
  NSAutoreleasePool* pool = [NSAutoreleasePool new];
  MPSNNImageNode* result = [[scale(input(@"x"), 3) resultImage] retain];
  [result setHandle:[TestHandle handle:@"y"]];
  [pool release];
  MPSNNGraph* made = graph(result);
  [result release];
  EXPECT_STREQ([[[made resultHandle] label] UTF8String], "y");
  EXPECT_EQ(value(run(made, {{"x", one(2)}})), 6);
}

TEST_F(MpsnnGraphTest, RunsInTheOrderOfTheCommandBuffer) {
  MPSNNGraph* made = graph([scale(input(@"x"), 2) resultImage]);
  MPSImageBatch* x = one(1);
  id<MTLCommandBuffer> buffer = command_buffer();
  NSArray* first = [made encodeBatchToCommandBuffer:buffer
                                       sourceImages:[NSArray arrayWithObject:x]
                                       sourceStates:nil];
  NSArray* second =
      [made encodeBatchToCommandBuffer:buffer
                          sourceImages:[NSArray arrayWithObject:first]
                          sourceStates:nil];
  const float changed = 7;
  [[x objectAtIndex:0] writeBytes:&changed
                       dataLayout:MPSDataLayoutHeightxWidthxFeatureChannels
                       imageIndex:0];
  EXPECT_EQ(value(second), 0);
  EXPECT_NE(raised(^{
              [made reloadFromDataSources];
            }),
            "");
  [buffer commit];
  [buffer waitUntilCompleted];
  EXPECT_EQ(value(second), 28);
  [made reloadFromDataSources];
}

TEST_F(MpsnnGraphTest, IntermediatesAreHalvesUnlessAskedOtherwise) {
  TestScaleNode* first = scale(input(@"x"), 1 / 3.f);
  MPSNNImageNode* result = [scale([first resultImage], 3) resultImage];
  MPSNNGraph* made = graph(result);
  EXPECT_EQ(value(run(made, {{"x", one(1)}})), 1 / 3.f * 3);
  made = [MPSNNGraph graphWithDevice:device_
                         resultImage:result
                 resultImageIsNeeded:YES];
  EXPECT_EQ([made format], MPSImageFeatureChannelFormatFloat16);
  [result setFormat:MPSImageFeatureChannelFormatFloat32];
  made = [MPSNNGraph graphWithDevice:device_
                         resultImage:result
                 resultImageIsNeeded:YES];
  EXPECT_EQ(value(run(made, {{"x", one(1)}})), 3 * float(_Float16(1 / 3.f)));
}

TEST_F(MpsnnGraphTest, ExportedImagesAreReturned) {
  TestScaleNode* first = scale(input(@"x"), 2);
  TestScaleNode* second = scale([first resultImage], 5);
  for (TestScaleNode* node : {first, second}) {
    [[node resultImage] setExportFromGraph:YES];
    [[node resultImage] setImageAllocator:[MPSImage defaultAllocator]];
  }
  [[first resultImage] setHandle:[TestHandle handle:@"first"]];
  [[second resultImage] setHandle:[TestHandle handle:@"second"]];
  TestScaleNode* third = scale([second resultImage], 7);
  NSMutableArray* intermediates = [NSMutableArray array];
  MPSNNGraph* made = graph([third resultImage]);
  EXPECT_EQ(value(run(made, {{"x", one(1)}}, intermediates)), 70);
  const auto order = labels([made intermediateImageHandles]);
  EXPECT_EQ(order, (std::vector<std::string>{"second", "first"}));
  EXPECT_EQ(value([intermediates objectAtIndex:0]), 10);
  EXPECT_EQ(value([intermediates objectAtIndex:1]), 2);
}

TEST_F(MpsnnGraphTest, FurtherResultsAreAmongTheIntermediates) {
  TestScaleNode* first = scale(input(@"x"), 2);
  TestScaleNode* second = scale(input(@"x2"), 3);
  [[second resultImage] setImageAllocator:[MPSImage defaultAllocator]];
  NSArray* results =
      [NSArray arrayWithObjects:[first resultImage], [second resultImage], nil];
  NSMutableArray* intermediates = [NSMutableArray array];
  MPSNNGraph* made = graph(results);
  EXPECT_EQ(value(run(made, {{"x", one(1)}, {"x2", one(1)}}, intermediates)),
            2);
  ASSERT_EQ([intermediates count], 1u);
  EXPECT_EQ(value([intermediates objectAtIndex:0]), 3);
  // What nobody needs is not computed, and its source is not asked for.
  BOOL needed[] = {YES, NO};
  made = [MPSNNGraph graphWithDevice:device_
                        resultImages:results
                    resultsAreNeeded:needed];
  EXPECT_EQ(labels([made sourceImageHandles]), std::vector<std::string>{"x"});
  EXPECT_EQ([[made intermediateImageHandles] count], 0u);
}

TEST_F(MpsnnGraphTest, TemporarySourcesNeedTheirReadCount) {
  MPSNNImageNode* x = input(@"x");
  MPSNNGraph* made =
      graph([add([NSArray arrayWithObjects:[scale(x, 1) resultImage],
                                           [scale(x, 2) resultImage], nil])
          resultImage]);
  EXPECT_EQ([made readCountForSourceImageAtIndex:0], 2u);
  id<MTLCommandBuffer> buffer = command_buffer();
  MPSTemporaryImage* temporary = [MPSTemporaryImage
      temporaryImageWithCommandBuffer:buffer
                      imageDescriptor:
                          [MPSImageDescriptor
                              imageDescriptorWithChannelFormat:
                                  MPSImageFeatureChannelFormatFloat32
                                                         width:1
                                                        height:1
                                               featureChannels:1]];
  NSArray* sources = [NSArray arrayWithObject:temporary];
  EXPECT_NE(raised(^{
              [made encodeToCommandBuffer:buffer sourceImages:sources];
            }),
            "");
  [temporary setReadCount:3];
  [made encodeToCommandBuffer:buffer sourceImages:sources];
  EXPECT_EQ([temporary readCount], 1u);
  [temporary setReadCount:0];
  [buffer commit];
}

TEST_F(MpsnnGraphTest, WrongArgumentsRaise) {
  MPSNNGraph* made =
      graph([add([NSArray arrayWithObjects:input(@"a"), input(@"b"), nil])
          resultImage]);
  auto encode = [&](NSArray* images) {
    return raised(^{
      [made encodeBatchToCommandBuffer:command_buffer()
                          sourceImages:images
                          sourceStates:nil];
    });
  };
  EXPECT_NE(encode([NSArray arrayWithObject:one(1)]), "");
  EXPECT_NE(encode([NSArray arrayWithObjects:one(1), [NSArray array], nil]),
            "");
  EXPECT_NE(
      encode([NSArray arrayWithObjects:one(1), batch(kOne, {{1}, {2}}), nil]),
      "");
  EXPECT_NE(encode([NSArray arrayWithObjects:one(1), @"b", nil]), "");
  EXPECT_NE(raised(^{
              graph(input(@"x"));
            }),
            "");
  EXPECT_NE(raised(^{
              [[[MPSNNGraph alloc] initWithDevice:device_] autorelease];
            }),
            "");
}

TEST_F(MpsnnGraphTest, GradientFiltersFollowTheContract) {
  TestScaleNode* single = scale(input(@"x"), 2);
  TestScaleNode* multiple =
      add([NSArray arrayWithObjects:input(@"a"), input(@"b"), nil]);
  MPSNNImageNode* g = input(@"g");
  NSArray* one_gradient = [NSArray arrayWithObject:g];
  NSArray* two_gradients = [NSArray arrayWithObjects:g, g, nil];
  EXPECT_EQ([[single gradientFiltersWithSource:g] count], 1u);
  EXPECT_EQ([[multiple gradientFiltersWithSources:one_gradient] count], 2u);
  MPSNNGradientFilterNode* gradient =
      [single gradientFilterWithSources:one_gradient];
  auto raises = [](void (^body)()) { EXPECT_NE(raised(body), ""); };
  raises(^{
    [single gradientFilterWithSources:two_gradients];
  });
  raises(^{
    [multiple gradientFilterWithSource:g];
  });
  raises(^{
    MPSNNImageNode* none = nil;
    [single gradientFilterWithSource:none];
  });
  raises(^{
    [(MPSNNFilterNode*)gradient gradientFilterWithSource:g];
  });
  raises(^{
    [(MPSNNFilterNode*)gradient gradientFiltersWithSources:one_gradient];
  });
}

TEST_F(MpsnnGraphTest, WorksThroughGradientsAndStates) {
  TestScaleNode* first = scale(input(@"x"), 2);
  TestScaleNode* second = scale([first resultImage], 5);
  auto made_for = std::make_shared<std::vector<std::string>>();
  NSArray* ends = [second
      trainingGraphWithSourceGradient:input(@"g")
                          nodeHandler:^(MPSNNFilterNode* gradient,
                                        MPSNNFilterNode* inference,
                                        MPSNNImageNode* source,
                                        MPSNNImageNode*) {
                            EXPECT_NE(gradient, nil);
                            EXPECT_EQ(
                                [[(id)inference sourceImages] objectAtIndex:0],
                                source);
                            made_for->push_back(object_getClassName(inference));
                          }];
  ASSERT_EQ([ends count], 1u);
  EXPECT_EQ(made_for->size(), 2u);
  MPSNNGraph* made = graph([[ends objectAtIndex:0] resultImage]);
  EXPECT_EQ(value(run(made, {{"x", one(1)}, {"g", one(3)}})), 30);
}

TEST_F(MpsnnGraphTest, TheWalkStopsWhereItIsTold) {
  TestScaleNode* first = scale(input(@"x"), 2);
  [[first resultImage] setStopGradient:YES];
  [[first resultImage] setHandle:[TestHandle handle:@"stopped"]];
  TestScaleNode* second = scale([first resultImage], 5);
  NSArray* ends = [second trainingGraphWithSourceGradient:input(@"g")
                                              nodeHandler:nil];
  ASSERT_EQ([ends count], 1u);
  MPSNNImageNode* result = [[ends objectAtIndex:0] resultImage];
  EXPECT_STREQ([[[result handle] label] UTF8String], "stopped");
  EXPECT_EQ(value(run(graph(result), {{"x", one(1)}, {"g", one(3)}})), 15);
}

TEST_F(MpsnnGraphTest, ExecutesOnItsOwn) {
  MPSNNGraph* made = graph([scale(input(@"x"), 2) resultImage]);
  auto result = std::make_shared<float>(0);
  MPSImage* image =
      [made executeAsyncWithSourceImages:one(4)
                       completionHandler:^(MPSImage* done, NSError* error) {
                         EXPECT_EQ(error, nil);
                         *result = values(done)[0];
                       }];
  EXPECT_NE(image, nil);
  emulator::wait_until_idle();
  EXPECT_EQ(*result, 8);
}

TEST_F(MpsnnGraphTest, CommitsInPiecesOfAnMPSCommandBuffer) {
  emulator::commit_and_continue_every(1, 2);
  MPSNNGraph* made = graph([weighted_sum() resultImage]);
  MPSCommandBuffer* buffer =
      [MPSCommandBuffer commandBufferFromCommandQueue:queue_];
  id<MTLCommandBuffer> first = [buffer commandBuffer];
  MPSImageBatch* y =
      [made encodeBatchToCommandBuffer:buffer
                          sourceImages:ordered(made, {{"a", one(1)},
                                                      {"b", one(2)},
                                                      {"c", one(3)}})
                          sourceStates:nil];
  EXPECT_NE([buffer commandBuffer], first);
  [buffer commit];
  [buffer waitUntilCompleted];
  EXPECT_EQ(value(y), 321);
}

}  // namespace
