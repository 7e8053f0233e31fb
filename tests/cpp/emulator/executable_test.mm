// SPDX-License-Identifier: MIT
// Encoding and running executables, and data of tensors.
#include <atomic>
#include <cmath>

#include "emulator/control.h"
#import "graph_fixture.h"

namespace {

/// Runs the executable on buffers that the caller sees.
class EncodeTest : public GraphTest {
 protected:
  void SetUp() override {
    executable_ = [compile() retain];
    x_data_ = make_floats({1, 2, 3});
    y_data_ = make_floats({10, 20, 30});
    sum_data_ = make_floats({0, 0, 0});
    minus_data_ = make_floats({0, 0, 0});
    buffer_ = [MPSCommandBuffer commandBufferFromCommandQueue:queue_];
  }
  void TearDown() override {
    [executable_ release];
    GraphTest::TearDown();
  }

  MPSGraphTensorData* vector(id<MTLBuffer> buffer) {
    return wrap(buffer, shape({3}));
  }
  NSArray* inputs() {
    return [NSArray arrayWithObjects:vector(y_data_), vector(x_data_), nil];
  }
  NSArray* results() {
    return
        [NSArray arrayWithObjects:vector(minus_data_), vector(sum_data_), nil];
  }
  NSArray* encode(NSArray* inputs, NSArray* results) {
    return [executable_ encodeToCommandBuffer:buffer_
                                  inputsArray:inputs
                                 resultsArray:results
                          executionDescriptor:nil];
  }
  void finish() {
    [buffer_ commit];
    [buffer_ waitUntilCompleted];
  }

  MPSGraphExecutable* executable_;
  id<MTLBuffer> x_data_, y_data_, sum_data_, minus_data_;
  MPSCommandBuffer* buffer_;
};

TEST_F(EncodeTest, InputsAreReadWhenTheWorkRuns) {
  encode(inputs(), results());
  data(x_data_)[0] = 5;
  EXPECT_EQ(floats(sum_data_)[0], 0);
  finish();
  EXPECT_EQ(floats(sum_data_), (std::vector<float>{15, 22, 33}));
  EXPECT_EQ(floats(minus_data_), (std::vector<float>{14, 21, 32}));
}

TEST_F(EncodeTest, ResultsCanBeTheFrameworks) {
  NSArray* made = encode(inputs(), nil);
  finish();
  float values[3];
  [[[made objectAtIndex:1] mpsndarray] readBytes:values strideBytes:nullptr];
  EXPECT_EQ(values[2], 33);
}

TEST_F(EncodeTest, EverySecondEncodingContinuesInAnotherBuffer) {
  emulator::commit_and_continue_every(2);
  id<MTLCommandBuffer> first = [buffer_ commandBuffer];
  encode(inputs(), results());
  EXPECT_EQ([buffer_ commandBuffer], first);
  encode(inputs(), results());
  EXPECT_NE([buffer_ commandBuffer], first);
  finish();
  EXPECT_EQ(floats(sum_data_), (std::vector<float>{11, 22, 33}));
}

TEST_F(EncodeTest, FailureOfTheFirstBufferLeavesGarbage) {
  emulator::commit_and_continue_every(1);
  emulator::fail_command_buffer(MTLCommandBufferErrorInternal);
  id<MTLCommandBuffer> first = [buffer_ rootCommandBuffer];
  encode(inputs(), results());
  finish();
  EXPECT_EQ([first status], MTLCommandBufferStatusError);
  EXPECT_EQ([buffer_ status], MTLCommandBufferStatusCompleted);
  EXPECT_TRUE(std::isnan(floats(sum_data_)[0]));
  EXPECT_TRUE(std::isnan(floats(minus_data_)[0]));
}

// The first one and the last know nothing of it.
TEST_F(EncodeTest, FailureOfAMiddleBufferLosesSomeResults) {
  emulator::commit_and_continue_every(1, 2);
  emulator::fail_command_buffer(MTLCommandBufferErrorInternal, 1);
  id<MTLCommandBuffer> first = [buffer_ rootCommandBuffer];
  encode(inputs(), results());
  finish();
  EXPECT_EQ([first status], MTLCommandBufferStatusCompleted);
  EXPECT_EQ([buffer_ status], MTLCommandBufferStatusCompleted);
  const bool has_sum = floats(sum_data_) == std::vector<float>{11, 22, 33};
  const bool has_minus = floats(minus_data_) == std::vector<float>{10, 21, 32};
  EXPECT_NE(has_sum, has_minus);
}

TEST_F(EncodeTest, EncodingChecks) {
  EXPECT_NE(raised(^{
              encode([NSArray arrayWithObject:vector(x_data_)], results());
            }),
            "");
  EXPECT_NE(raised(^{
              encode(inputs(), [NSArray array]);
            }),
            "");
  MPSGraphTensorData* matrix = wrap(x_data_, shape({1, 3}));
  EXPECT_NE(raised(^{
              encode([NSArray arrayWithObjects:matrix, matrix, nil], results());
            }).find("Float32 (1, 3)"),
            std::string::npos);
  MPSGraphTensorData* ints = [[[MPSGraphTensorData alloc]
      initWithMTLBuffer:x_data_
                  shape:shape({3})
               dataType:MPSDataTypeInt32] autorelease];
  EXPECT_NE(raised(^{
              encode([NSArray arrayWithObjects:ints, ints, nil], results());
            }),
            "");
  emulator::raise_in_encode();
  EXPECT_NE(raised(^{
              encode(inputs(), results());
            }),
            "");
}

TEST_F(EncodeTest, FedMemoryMustNotBeTargeted) {
  NSArray* in_place =
      [NSArray arrayWithObjects:vector(minus_data_), vector(x_data_), nil];
  EXPECT_NE(raised(^{
              encode(inputs(), in_place);
            }).find("the same memory is fed and targeted"),
            std::string::npos);
  NSArray* twice =
      [NSArray arrayWithObjects:vector(sum_data_), vector(sum_data_), nil];
  EXPECT_NE(raised(^{
              encode(inputs(), twice);
            }),
            "");
}

TEST_F(EncodeTest, BuffersOfOneHeapMayOverlapUnnoticedButNotInOneEncoding) {
  MTLHeapDescriptor* descriptor = [[MTLHeapDescriptor new] autorelease];
  [descriptor setSize:1024];
  [descriptor setStorageMode:MTLStorageModeShared];
  [descriptor setType:MTLHeapTypePlacement];
  id<MTLHeap> heap = [[device_ newHeapWithDescriptor:descriptor] autorelease];
  const auto part = [&](NSUInteger offset) {
    return vector([[heap newBufferWithLength:12 options:0
                                      offset:offset] autorelease]);
  };
  NSArray* feeds = [NSArray arrayWithObjects:part(0), vector(x_data_), nil];
  NSArray* bad = [NSArray arrayWithObjects:part(256), part(0), nil];
  NSArray* good = [NSArray arrayWithObjects:part(256), part(512), nil];
  EXPECT_NE(raised(^{
              encode(feeds, bad);
            }),
            "");
  EXPECT_EQ(raised(^{
              encode(feeds, good);
            }),
            "");
}

TEST_F(EncodeTest, ResultsInUntrackedHeapsAreGarbage) {
  for (auto mode :
       {MTLHazardTrackingModeTracked, MTLHazardTrackingModeDefault}) {
    MTLHeapDescriptor* descriptor = [[MTLHeapDescriptor new] autorelease];
    [descriptor setSize:1024];
    [descriptor setStorageMode:MTLStorageModeShared];
    [descriptor setType:MTLHeapTypePlacement];
    [descriptor setHazardTrackingMode:mode];
    id<MTLHeap> heap = [[device_ newHeapWithDescriptor:descriptor] autorelease];
    id<MTLBuffer> sum = [[heap newBufferWithLength:12 options:0
                                            offset:0] autorelease];
    encode(inputs(),
           [NSArray arrayWithObjects:vector(minus_data_), vector(sum), nil]);
    finish();
    EXPECT_EQ(std::isnan(floats(sum)[0]), mode == MTLHazardTrackingModeDefault);
    buffer_ = [MPSCommandBuffer commandBufferFromCommandQueue:queue_];
  }
}

TEST_F(EncodeTest, GraphsMustOutliveExecutables) {
  [graph_ release];
  graph_ = nil;
  EXPECT_NE(raised(^{
              encode(inputs(), results());
            }).find("was released"),
            std::string::npos);
}

TEST_F(EncodeTest, ExecutablesMustOutliveTheirWork) {
  emulator::commit_and_continue_every(0);
  encode(inputs(), results());
  id<MTLCommandBuffer> work = [[buffer_ commandBuffer] retain];
  [executable_ release];
  executable_ = nil;
  [pool_ release];  // the executable was autoreleased too
  pool_ = [NSAutoreleasePool new];
  [work commit];
  [work waitUntilCompleted];
  EXPECT_EQ([[work error] code], MTLCommandBufferErrorInvalidResource);
  [work release];
}

TEST_F(EncodeTest, DescriptorsCallHandlersAndEvents) {
  auto* descriptor = [[MPSGraphExecutableExecutionDescriptor new] autorelease];
  id<MTLSharedEvent> event = [[device_ newSharedEvent] autorelease];
  auto count = std::make_shared<std::atomic<int>>(0);
  [descriptor signalEvent:event
         atExecutionEvent:MPSGraphExecutionStageCompleted
                    value:4];
  [descriptor setCompletionHandler:^(NSArray* data, NSError* error) {
    if (!error) *count = static_cast<int>([data count]);
  }];
  [executable_ runAsyncWithMTLCommandQueue:queue_
                               inputsArray:inputs()
                              resultsArray:results()
                       executionDescriptor:descriptor];
  emulator::wait_until_idle();
  EXPECT_EQ(*count, 2);
  EXPECT_EQ([event signaledValue], 4u);
  EXPECT_EQ(floats(sum_data_)[0], 11);
}

TEST_F(EncodeTest, OperationsAreCorruptedOnDemand) {
  emulator::corrupt_operation("addition",
                              [](std::vector<std::vector<double>>& results) {
                                results.at(0).at(1) = 100;
                              });
  const long before = emulator::counters().operations;
  [executable_ runWithMTLCommandQueue:queue_
                          inputsArray:inputs()
                         resultsArray:results()
                  executionDescriptor:nil];
  EXPECT_EQ(floats(sum_data_), (std::vector<float>{11, 100, 33}));
  EXPECT_EQ(floats(minus_data_), (std::vector<float>{10, 99, 32}));
  EXPECT_EQ(emulator::counters().operations, before + 2);
}

TEST_F(EncodeTest, GraphsRunDirectly) {
  NSDictionary* feeds =
      [NSDictionary dictionaryWithObjectsAndKeys:vector(x_data_), x_,
                                                 vector(y_data_), y_, nil];
  NSDictionary* made =
      [graph_ runWithMTLCommandQueue:queue_
                               feeds:feeds
                       targetTensors:[NSArray arrayWithObject:sum_]
                    targetOperations:nil];
  float values[3];
  [[[made objectForKey:sum_] mpsndarray] readBytes:values strideBytes:nullptr];
  EXPECT_EQ(values[1], 22);
  NSDictionary* wanted = [NSDictionary dictionaryWithObject:vector(minus_data_)
                                                     forKey:minus_];
  [graph_ encodeToCommandBuffer:buffer_
                          feeds:feeds
               targetOperations:nil
              resultsDictionary:wanted
            executionDescriptor:nil];
  finish();
  EXPECT_EQ(floats(minus_data_), (std::vector<float>{10, 21, 32}));
}

TEST_F(EncodeTest, TensorDataChecksItsBuffer) {
  EXPECT_NE(raised(^{
              wrap(x_data_, shape({4}));
            }).find("not large enough"),
            std::string::npos);
  id<MTLBuffer> padded = make_floats({1, 2, 0, 3, 4, 0});
  MPSGraphTensorData* rows =
      [[[MPSGraphTensorData alloc] initWithMTLBuffer:padded
                                               shape:shape({2, 2})
                                            dataType:MPSDataTypeFloat32
                                            rowBytes:12] autorelease];
  float values[4];
  [[rows mpsndarray] readBytes:values strideBytes:nullptr];
  EXPECT_EQ(values[2], 3);
  NSInteger strides[] = {8, 4};
  [[rows mpsndarray] readBytes:values strideBytes:strides];
  EXPECT_EQ(values[1], 3);
}

}  // namespace
