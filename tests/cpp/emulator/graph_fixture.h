// SPDX-License-Identifier: MIT
// GraphTest: a small graph that needs no op of MPSGraph.
#pragma once

#import "core_support.h"
#include "graph_core.h"

/// A graph of (x + y, x + y - 1) over float vectors of three.
class GraphTest : public CoreTest {
 protected:
  GraphTest() {
    graph_ = [MPSGraph new];
    x_ = placeholder(@"x");
    y_ = placeholder(@"y");
    sum_ = add(x_, y_, "addition", 1);
    minus_ = add(sum_,
                 [graph_ constantWithScalar:1
                                      shape:shape({3})
                                   dataType:MPSDataTypeFloat32],
                 "subtraction", -1);
  }
  void TearDown() override {
    [graph_ release];
    CoreTest::TearDown();
  }

  MPSGraphTensor* placeholder(NSString* name) {
    return [graph_ placeholderWithShape:shape({3})
                               dataType:MPSDataTypeFloat32
                                   name:name];
  }

  MPSGraphTensor* add(MPSGraphTensor* a, MPSGraphTensor* b, const char* op,
                      double factor) {
    return emulator::add_operation(
        graph_, op, nil, [NSArray arrayWithObjects:a, b, nil],
        emulator::type_of(a),
        [factor](const std::vector<const emulator::Array*>& inputs,
                 std::vector<emulator::Array>& results) {
          for (std::size_t i = 0; i < results[0].data.size(); ++i) {
            results[0].data[i] =
                inputs[0]->data[i] + factor * inputs[1]->data[i];
          }
        });
  }

  MPSGraphExecutable* compile(NSArray* feeds, NSArray* targets) {
    NSMutableDictionary* types = [NSMutableDictionary dictionary];
    for (MPSGraphTensor* feed in feeds) {
      [types setObject:[[[MPSGraphShapedType alloc]
                           initWithShape:[feed shape]
                                dataType:[feed dataType]] autorelease]
                forKey:feed];
    }
    return
        [graph_ compileWithDevice:[MPSGraphDevice deviceWithMTLDevice:device_]
                            feeds:types
                    targetTensors:targets
                 targetOperations:nil
            compilationDescriptor:nil];
  }
  MPSGraphExecutable* compile() {
    return compile([NSArray arrayWithObjects:x_, y_, nil],
                   [NSArray arrayWithObjects:sum_, minus_, nil]);
  }

  MPSGraph* graph_;
  MPSGraphTensor *x_, *y_, *sum_, *minus_;
};
