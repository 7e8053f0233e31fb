// SPDX-License-Identifier: MIT
#include "ops_support.h"

#include <cmath>

#include "element_types.h"
#include "executor.h"
#import "graph_objects.h"

NSArray<NSNumber*>* numbers(const Lengths& lengths) {
  NSMutableArray* array = [NSMutableArray array];
  for (std::int64_t length : lengths) [array addObject:@((NSInteger)length)];
  return array;
}

std::string refusal(const std::function<void()>& action) {
  @try {
    action();
  } @catch (NSException* exception) {
    EXPECT_TRUE([[exception name] isEqualToString:NSInvalidArgumentException]);
    return [[exception reason] UTF8String];
  }
  return "";
}

void expect_near(const Values& got, const Values& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << "element " << i << ": " << got[i];
    } else if (got[i] != expected[i]) {  // infinities are equal
      EXPECT_NEAR(got[i], expected[i], tolerance) << "element " << i;
    }
  }
}

Values scattered(std::size_t count, unsigned seed) {
  Values values;
  std::uint32_t state = seed * 2654435761u + 1;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    values.push_back((state >> 16) / 32768.0 - 1);
  }
  return values;
}

OpsTest::OpsTest() : pool_([[NSAutoreleasePool alloc] init]) {
  graph = [[MPSGraph alloc] init];
}

OpsTest::~OpsTest() {
  [graph release];
  [pool_ release];
}

MPSGraphTensor* OpsTest::feed(const Lengths& shape, const Values& values,
                              MPSDataType type) {
  MPSGraphTensor* placeholder = [graph placeholderWithShape:numbers(shape)
                                                   dataType:type
                                                       name:nil];
  refeed(placeholder, values);
  return placeholder;
}

void OpsTest::refeed(MPSGraphTensor* placeholder, const Values& values) {
  emulator::Array array{emulator::type_of(placeholder), values};
  round_to_type(array);
  feeds_[[placeholder valueIndex]] = array;
}

MPSGraphTensor* OpsTest::constant(const Values& values, MPSDataType type) {
  NSMutableData* bytes = [NSMutableData
      dataWithLength:values.size() * emulator::element_size(type)];
  emulator::encode(type, values.data(), values.size(), [bytes mutableBytes]);
  return [graph constantWithData:bytes
                           shape:numbers({std::ssize(values)})
                        dataType:type];
}

Values OpsTest::run(MPSGraphTensor* target) {
  return run_all([NSArray arrayWithObject:target])[0];
}

std::vector<Values> OpsTest::run_all(NSArray<MPSGraphTensor*>* targets) {
  std::vector<std::size_t> indices, fed;
  std::vector<emulator::Array> arrays;
  for (MPSGraphTensor* target in targets) {
    indices.push_back([target valueIndex]);
  }
  for (const auto& [index, array] : feeds_) {
    fed.push_back(index);
    arrays.push_back(array);
  }
  const auto plan = emulator::make_plan(*[graph state], fed, indices, {});
  std::vector<Values> values;
  for (const emulator::Array& result : compute(*plan, arrays)) {
    values.push_back(result.data);
  }
  return values;
}

Lengths OpsTest::shape(MPSGraphTensor* tensor) {
  Lengths lengths;
  for (NSNumber* length in [tensor shape]) {
    lengths.push_back([length integerValue]);
  }
  return lengths;
}

void OpsTest::expect_gradient(MPSGraphTensor* gradient, MPSGraphTensor* x,
                              MPSGraphTensor* result, MPSGraphTensor* incoming,
                              double tolerance) {
  constexpr double kStep = 1.0 / 64;
  ASSERT_EQ(shape(gradient), shape(x));
  const Values got = run(gradient);
  const Values g = run(incoming);
  const Values start = feeds_.at([x valueIndex]).data;
  const auto weighted_sum = [&](std::size_t i, double step) {
    Values moved = start;
    moved[i] += step;
    refeed(x, moved);
    const Values y = run(result);
    double sum = 0;
    for (std::size_t k = 0; k < y.size(); ++k) sum += g[k] * y[k];
    return sum;
  };
  Values expected;
  for (std::size_t i = 0; i < start.size(); ++i) {
    expected.push_back((weighted_sum(i, kStep) - weighted_sum(i, -kStep)) /
                       (2 * kStep));
  }
  refeed(x, start);
  expect_near(got, expected, tolerance);
}
