// SPDX-License-Identifier: MIT
// Computes small graphs of the emulated MPSGraph: values in, values out. No
// device or command buffer is involved.
#pragma once

#import <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "array.h"

using Values = std::vector<double>;
using Lengths = std::vector<std::int64_t>;

NSArray<NSNumber*>* numbers(const Lengths& lengths);

/// Message of the NSInvalidArgumentException that `action` raises; empty if it
/// raises none.
std::string refusal(const std::function<void()>& action);

void expect_near(const Values& got, const Values& expected,
                 double tolerance = 1e-6);

/// Numbers without pattern in [-1, 1), always the same.
Values scattered(std::size_t count, unsigned seed = 1);

class OpsTest : public testing::Test {
 protected:
  OpsTest();
  ~OpsTest() override;

  /// A placeholder that is fed these values.
  MPSGraphTensor* feed(const Lengths& shape, const Values& values,
                       MPSDataType type = MPSDataTypeFloat32);
  MPSGraphTensor* feed(const Values& values) {
    return feed({std::ssize(values)}, values);
  }
  void refeed(MPSGraphTensor* placeholder, const Values& values);
  MPSGraphTensor* constant(const Values& values, MPSDataType type);

  Values run(MPSGraphTensor* target);
  std::vector<Values> run_all(NSArray<MPSGraphTensor*>* targets);
  static Lengths shape(MPSGraphTensor* tensor);

  /// Compares `gradient` with central differences of the sum of
  /// incoming * result in every element of the placeholder `x`.
  void expect_gradient(MPSGraphTensor* gradient, MPSGraphTensor* x,
                       MPSGraphTensor* result, MPSGraphTensor* incoming,
                       double tolerance = 2e-3);

  MPSGraph* graph;

 private:
  NSAutoreleasePool* pool_;
  std::map<std::size_t, emulator::Array> feeds_;  // by value
};
