// SPDX-License-Identifier: MIT
// MPSGraph without its ops: building and compiling.
#include <thread>

#include "emulator/control.h"
#import "graph_fixture.h"
#import "graph_objects.h"
#include "work_queue.h"

namespace {

TEST_F(GraphTest, GraphsOwnTheirTensors) {
  EXPECT_EQ([[graph_ placeholderTensors] count], 2u);
  EXPECT_EQ([[sum_ operation] graph], graph_);
  EXPECT_TRUE([[[x_ operation] name] isEqual:@"x"]);
  EXPECT_TRUE([[sum_ shape] isEqual:shape({3})]);
  EXPECT_EQ([[[[minus_ operation] inputTensors] objectAtIndex:0] operation],
            [sum_ operation]);
  EXPECT_EQ([graph_ options], MPSGraphOptionsDefault);
}

TEST_F(GraphTest, OneThreadBuildsAtATime) {
  std::string reason;
  const auto build = [&] {
    reason = raised(^{
      [graph_ placeholderWithShape:shape({2}) name:nil];
    });
  };
  const auto build_elsewhere = [&] {
    std::thread([&] {
      emulator::enter_thread();
      emulator::in_pool(build);
      emulator::leave_thread();
    }).join();
  };
  build_elsewhere();
  EXPECT_EQ(reason, "");
  const emulator::Building building("test");
  build();
  EXPECT_EQ(reason, "");
  build_elsewhere();
  EXPECT_NE(reason.find("another thread"), std::string::npos);
}

TEST_F(GraphTest, BuildingRefusesNonsense) {
  EXPECT_NE(raised(^{
              [graph_ placeholderWithShape:shape({0})
                                  dataType:MPSDataTypeFloat32
                                      name:nil];
            }),
            "");
  const auto float64 = MPSDataType(MPSDataTypeFloatBit | 64);
  EXPECT_NE(raised(^{
              [graph_ placeholderWithShape:shape({2})
                                  dataType:float64
                                      name:nil];
            }),
            "");
  EXPECT_NE(raised(^{
              [graph_ placeholderWithShape:nil name:nil];
            }),
            "");
  EXPECT_NE(raised(^{
              [graph_ constantWithData:[NSData data]
                                 shape:shape({2})
                              dataType:MPSDataTypeFloat32];
            }),
            "");
  MPSGraph* other = [[MPSGraph new] autorelease];
  EXPECT_NE(raised(^{
              emulator::require_tensor(other, "op", x_);
            }),
            "");
  EXPECT_NE(raised(^{
              emulator::require_tensor(graph_, "op", nil);
            }),
            "");
  emulator::raise_in_operation("addition");
  EXPECT_EQ(raised(^{
              add(x_, y_, "addition", 1);
            }),
            "addition: fails on demand");
}

TEST_F(GraphTest, ExecutablesHaveAnOrderOfTheirOwn) {
  MPSGraphExecutable* executable = compile();
  EXPECT_EQ([[executable feedTensors] objectAtIndex:0], y_);
  EXPECT_EQ([[executable feedTensors] objectAtIndex:1], x_);
  EXPECT_EQ([[executable targetTensors] objectAtIndex:0], minus_);
}

TEST_F(GraphTest, CompilingChecks) {
  NSArray* x = [NSArray arrayWithObject:x_];
  NSArray* xy = [NSArray arrayWithObjects:x_, y_, nil];
  NSArray* sum = [NSArray arrayWithObject:sum_];
  EXPECT_NE(raised(^{
              compile(x, sum);
            }).find("placeholder y"),
            std::string::npos);
  EXPECT_NE(raised(^{
              compile(xy, [NSArray array]);
            }),
            "");
  EXPECT_NE(raised(^{
              compile(xy, [NSArray arrayWithObjects:sum_, sum_, nil]);
            }),
            "");
  EXPECT_NE(raised(^{
              compile([xy arrayByAddingObject:sum_], sum);
            }),
            "");
  EXPECT_NE(raised(^{
              [graph_ compileWithDevice:nil
                                  feeds:[NSDictionary dictionary]
                          targetTensors:sum
                       targetOperations:nil
                  compilationDescriptor:nil];
            }),
            "");
  emulator::fail_compile();
  EXPECT_NE(raised(^{
              compile(xy, sum);
            }),
            "");
  const long before = emulator::counters().compiles;
  compile(xy, sum);
  EXPECT_EQ(emulator::counters().compiles, before + 1);
}

}  // namespace
