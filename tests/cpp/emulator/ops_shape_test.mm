// SPDX-License-Identifier: MIT
// Operations of the emulator that move elements, and resampling.
#include "ops_support.h"

namespace {

Values counting(std::size_t count) {
  Values values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(double(i));
  return values;
}

TEST_F(OpsTest, Views) {
  MPSGraphTensor* x = feed({2, 1, 3}, counting(6));
  const auto check = [&](MPSGraphTensor* y, const Lengths& expected) {
    EXPECT_EQ(shape(y), expected);
    EXPECT_EQ(run(y), counting(6));
  };
  check([graph reshapeTensor : x withShape : @[ @3, @-1 ] name : nil],
        { 3, 2 });
  check([graph flatten2DTensor : x axis : 1 name : nil], { 2, 3 });
  check([graph flatten2DTensor : x axis : -1 name : nil], { 2, 3 });
  check([graph squeezeTensor : x name : nil], { 2, 3 });
  check([graph squeezeTensor : x axes : @[ @-2 ] name : nil], { 2, 3 });
  check([graph expandDimsOfTensor : x axis : -1 name : nil], { 2, 1, 3, 1 });
  check([graph expandDimsOfTensor : x axes : @[ @0, @2 ] name : nil],
        { 1, 2, 1, 1, 3 });
  EXPECT_EQ(run([graph shapeOfTensor:x name:nil]), (Values{2, 1, 3}));
}

TEST_F(OpsTest, Transposes) {
  MPSGraphTensor* x = feed({2, 3}, counting(6));
  const Values expected{0, 3, 1, 4, 2, 5};
  EXPECT_EQ(run([graph transposeTensor:x dimension:0 withDimension:1 name:nil]),
            expected);
  EXPECT_EQ(run([graph transposeTensor:x
                             dimension:NSUInteger(-1)
                         withDimension:NSUInteger(-2)
                                  name:nil]),
            expected);
  MPSGraphTensor* cube = feed({2, 3, 1}, counting(6));
  MPSGraphTensor* y = [graph transposeTensor:cube
                                 permutation:@[ @2, @1, @0 ]
                                        name:nil];
  EXPECT_EQ(shape(y), (Lengths{1, 3, 2}));
  EXPECT_EQ(run(y), expected);
}

TEST_F(OpsTest, Slices) {
  MPSGraphTensor* x = feed({2, 4}, counting(8));
  EXPECT_EQ(run([graph sliceTensor:x dimension:1 start:1 length:2 name:nil]),
            (Values{1, 2, 5, 6}));
  EXPECT_EQ(run([graph sliceTensor:x dimension:1 start:-1 length:1 name:nil]),
            (Values{3, 7}));
  const auto sliced = [&](NSArray* starts, NSArray* ends, NSArray* strides) {
    return run([graph sliceTensor:x
                           starts:starts
                             ends:ends
                          strides:strides
                             name:nil]);
  };
  EXPECT_EQ(sliced(@[ @0, @0 ], @[ @2, @4 ], @[ @1, @2 ]),
            (Values{0, 2, 4, 6}));
  EXPECT_EQ(sliced(@[ @-1, @-2 ], @[ @9, @9 ], @[ @1, @1 ]), (Values{6, 7}));
  EXPECT_EQ(sliced(@[ @0, @3 ], @[ @1, @-9 ], @[ @1, @-2 ]), (Values{3, 1}));
  EXPECT_EQ(sliced(@[ @0, @3 ], @[ @1, @0 ], @[ @1, @-1 ]), (Values{3, 2, 1}));
}

TEST_F(OpsTest, SliceGradient) {
  MPSGraphTensor* x = feed({2, 4}, counting(8));
  MPSGraphTensor* y = [graph sliceTensor:x
                                  starts:@[ @0, @1 ]
                                    ends:@[ @2, @4 ]
                                 strides:@[ @1, @2 ]
                                    name:nil];
  MPSGraphTensor* g = feed({2, 2}, {1, 2, 3, 4});
  MPSGraphTensor* dx =
      [graph sliceGradientTensor:g
                fwdInShapeTensor:constant({2, 4}, MPSDataTypeInt32)
                          starts:@[ @0, @1 ]
                            ends:@[ @2, @4 ]
                         strides:@[ @1, @2 ]
                            name:nil];
  EXPECT_EQ(run(dx), (Values{0, 1, 0, 2, 0, 3, 0, 4}));
  expect_gradient(dx, x, y, g);
}

TEST_F(OpsTest, ConcatSplitStack) {
  MPSGraphTensor* a = feed({2, 1}, {1, 2});
  MPSGraphTensor* b = feed({2, 2}, {3, 4, 5, 6});
  MPSGraphTensor* joined = [graph concatTensors:@[ a, b ]
                                      dimension:-1
                                           name:nil];
  EXPECT_EQ(run(joined), (Values{1, 3, 4, 2, 5, 6}));
  NSArray* parts = [graph splitTensor:joined
                           splitSizes:@[ @1, @2 ]
                                 axis:1
                                 name:nil];
  const std::vector<Values> values = run_all(parts);
  EXPECT_EQ(values[0], (Values{1, 2}));
  EXPECT_EQ(values[1], (Values{3, 4, 5, 6}));
  EXPECT_EQ(run_all([graph splitTensor:joined numSplits:3 axis:1 name:nil])[2],
            (Values{4, 6}));
  MPSGraphTensor* stack = [graph stackTensors:@[ a, a ] axis:-1 name:nil];
  EXPECT_EQ(shape(stack), (Lengths{2, 1, 2}));
  EXPECT_EQ(run(stack), (Values{1, 1, 2, 2}));
}

TEST_F(OpsTest, PaddingModesAndTheirGradients) {
  const std::pair<MPSGraphPaddingMode, Values> cases[] = {
      {MPSGraphPaddingModeConstant, {9, 9, 1, 2, 3, 9}},
      {MPSGraphPaddingModeZero, {0, 0, 1, 2, 3, 0}},
      {MPSGraphPaddingModeReflect, {3, 2, 1, 2, 3, 2}},
      {MPSGraphPaddingModeSymmetric, {2, 1, 1, 2, 3, 3}},
      {MPSGraphPaddingModeClampToEdge, {1, 1, 1, 2, 3, 3}},
      {MPSGraphPaddingModePeriodic, {2, 3, 1, 2, 3, 1}},
      {MPSGraphPaddingModeAntiPeriodic, {-2, -3, 1, 2, 3, -1}},
  };
  MPSGraphTensor* x = feed({1, 2, 3});
  MPSGraphTensor* g = feed(scattered(6));
  for (const auto& [mode, expected] : cases) {
    SCOPED_TRACE(mode);
    MPSGraphTensor* y = [graph padTensor:x
                         withPaddingMode:mode
                             leftPadding:@[ @2 ]
                            rightPadding:@[ @1 ]
                           constantValue:9
                                    name:nil];
    EXPECT_EQ(run(y), expected);
    expect_gradient([graph padGradientWithIncomingGradientTensor:g
                                                    sourceTensor:x
                                                     paddingMode:mode
                                                     leftPadding:@[ @2 ]
                                                    rightPadding:@[ @1 ]
                                                            name:nil],
                    x, y, g);
  }
}

TEST_F(OpsTest, TileBroadcastReverse) {
  MPSGraphTensor* x = feed({1, 2}, {1, 2});
  MPSGraphTensor* tiled = [graph tileTensor:x
                             withMultiplier:@[ @2, @2 ]
                                       name:nil];
  EXPECT_EQ(run(tiled), (Values{1, 2, 1, 2, 1, 2, 1, 2}));
  MPSGraphTensor* g = feed({2, 4}, scattered(8));
  expect_gradient([graph tileGradientWithIncomingGradientTensor:g
                                                   sourceTensor:x
                                                 withMultiplier:@[ @2, @2 ]
                                                           name:nil],
                  x, tiled, g);
  EXPECT_EQ(run([graph broadcastTensor:x toShape:@[ @2, @1, @2 ] name:nil]),
            (Values{1, 2, 1, 2}));
  EXPECT_EQ(run([graph reverseTensor:x axes:@[ @1 ] name:nil]), (Values{2, 1}));
  EXPECT_EQ(run([graph reverseTensor:feed({2, 2}, {1, 2, 3, 4}) name:nil]),
            (Values{4, 3, 2, 1}));
}

TEST_F(OpsTest, CastAndCoordinates) {
  MPSGraphTensor* x = feed({-1.5, 0, 2.75});
  EXPECT_EQ(run([graph castTensor:x toType:MPSDataTypeInt32 name:nil]),
            (Values{-1, 0, 2}));
  EXPECT_EQ(run([graph castTensor:x toType:MPSDataTypeBool name:nil]),
            (Values{1, 0, 1}));
  EXPECT_EQ(run([graph castTensor:feed({1.0009765625f + 0.0001f})
                           toType:MPSDataTypeFloat16
                             name:nil]),
            Values{1.0009765625});
  EXPECT_EQ(run([graph coordinateAlongAxis:-1 withShape:@[ @2, @3 ] name:nil]),
            (Values{0, 1, 2, 0, 1, 2}));
}

TEST_F(OpsTest, Resize) {
  MPSGraphTensor* x = feed({1, 1, 1, 2}, {0, 4});
  struct Case {
    MPSGraphResizeMode mode;
    bool center_result, align_corners;
    Values expected;
  };
  const Case cases[] = {
      {MPSGraphResizeNearest, true, false, {0, 0, 4, 4}},
      {MPSGraphResizeNearest, false, false, {0, 4, 4, 4}},
      {MPSGraphResizeBilinear, true, false, {0, 1, 3, 4}},
      {MPSGraphResizeBilinear, false, false, {0, 2, 4, 4}},
      {MPSGraphResizeBilinear, false, true, {0, 4 / 3.0, 8 / 3.0, 4}},
  };
  MPSGraphTensor* g = feed({1, 1, 2, 4}, scattered(8));
  for (const Case& c : cases) {
    const auto layout = MPSGraphTensorNamedDataLayoutNCHW;
    MPSGraphTensor* y = [graph resizeTensor:x
                                       size:@[ @2, @4 ]
                                       mode:c.mode
                               centerResult:c.center_result
                               alignCorners:c.align_corners
                                     layout:layout
                                       name:nil];
    EXPECT_EQ(shape(y), (Lengths{1, 1, 2, 4}));
    Values twice = c.expected;
    twice.insert(twice.end(), c.expected.begin(), c.expected.end());
    expect_near(run(y), twice);
    expect_gradient([graph resizeWithGradientTensor:g
                                              input:x
                                               mode:c.mode
                                       centerResult:c.center_result
                                       alignCorners:c.align_corners
                                             layout:layout
                                               name:nil],
                    x, y, g);
  }
}

TEST_F(OpsTest, ResizeNearestFloorsInAnyLayout) {
  MPSGraphTensor* x = feed({1, 2, 2}, {1, 10, 2, 20});  // HWC
  MPSGraphTensor* y =
      [graph resizeNearestWithTensor:x
                          sizeTensor:constant({1, 4}, MPSDataTypeInt32)
                 nearestRoundingMode:MPSGraphResizeNearestRoundingModeFloor
                        centerResult:NO
                        alignCorners:NO
                              layout:MPSGraphTensorNamedDataLayoutHWC
                                name:nil];
  EXPECT_EQ(run(y), (Values{1, 10, 1, 10, 2, 20, 2, 20}));
}

TEST_F(OpsTest, ShapeRefusals) {
  MPSGraphTensor* x = feed({2, 3}, counting(6));
  MPSGraphTensor* integer = feed({2, 3}, counting(6), MPSDataTypeInt32);
  const auto refuses = [](const std::function<void()>& action) {
    return !refusal(action).empty();
  };
  const auto reshape = [&](NSArray* to) {
    return refuses([&] { [graph reshapeTensor:x withShape:to name:nil]; });
  };
  EXPECT_TRUE(reshape(@[ @4 ]));
  EXPECT_TRUE(reshape(@[ @-1, @-1 ]));
  EXPECT_TRUE(reshape(@[ @-1, @4 ]));
  EXPECT_TRUE(reshape(nil));
  EXPECT_FALSE(reshape(@[ @-1 ]));
  EXPECT_TRUE(refuses([&] { [graph squeezeTensor:x axis:0 name:nil]; }));
  EXPECT_TRUE(refuses(
      [&] { [graph transposeTensor:x permutation:@[ @0, @0 ] name:nil]; }));
  EXPECT_TRUE(
      refuses([&] { [graph transposeTensor:x permutation:@[ @0 ] name:nil]; }));
  EXPECT_TRUE(refuses(
      [&] { [graph transposeTensor:x dimension:0 withDimension:2 name:nil]; }));
  EXPECT_TRUE(refuses(
      [&] { [graph sliceTensor:x dimension:1 start:2 length:2 name:nil]; }));
  EXPECT_TRUE(refuses(
      [&] { [graph sliceTensor:x dimension:1 start:0 length:0 name:nil]; }));
  EXPECT_TRUE(refuses([&] {
    [graph sliceTensor:x
                starts:@[ @0, @2 ]
                  ends:@[ @1, @1 ]
               strides:@[ @1, @1 ]
                  name:nil];
  }));
  EXPECT_TRUE(refuses([&] {
    [graph sliceGradientTensor:x
              fwdInShapeTensor:integer
                        starts:@[ @0, @0 ]
                          ends:@[ @2, @3 ]
                       strides:@[ @1, @1 ]
                          name:nil];
  }));
  EXPECT_TRUE(refuses(
      [&] { [graph concatTensors:@[ x, integer ] dimension:0 name:nil]; }));
  EXPECT_TRUE(refuses([&] {
    [graph concatTensors:@[ x, feed({3, 2}, counting(6)) ]
               dimension:0
                    name:nil];
  }));
  EXPECT_TRUE(refuses([&] { [graph concatTensors:@[] dimension:0 name:nil]; }));
  EXPECT_TRUE(refuses(
      [&] { [graph splitTensor:x splitSizes:@[ @1, @1 ] axis:1 name:nil]; }));
  EXPECT_TRUE(
      refuses([&] { [graph splitTensor:x numSplits:2 axis:1 name:nil]; }));
  const auto pad = [&](MPSGraphPaddingMode mode, NSArray* left) {
    return refuses([&] {
      [graph padTensor:x
          withPaddingMode:mode
              leftPadding:left
             rightPadding:@[ @0, @0 ]
            constantValue:0
                     name:nil];
    });
  };
  EXPECT_TRUE(pad(MPSGraphPaddingModeConstant, @[ @1 ]));
  EXPECT_TRUE(pad(MPSGraphPaddingModeConstant, @[ @-1, @0 ]));
  EXPECT_TRUE(pad(MPSGraphPaddingModeReflect, @[ @2, @0 ]));
  EXPECT_FALSE(pad(MPSGraphPaddingModeSymmetric, @[ @2, @0 ]));
  EXPECT_TRUE(pad(MPSGraphPaddingModeSymmetric, @[ @3, @0 ]));
  EXPECT_TRUE(
      refuses([&] { [graph tileTensor:x withMultiplier:@[ @2 ] name:nil]; }));
  EXPECT_TRUE(
      refuses([&] { [graph broadcastTensor:x toShape:@[ @2, @6 ] name:nil]; }));
  EXPECT_TRUE(refuses([&] {
    const auto float64 = MPSDataType(MPSDataTypeFloatBit | 64);
    [graph castTensor:x toType:float64 name:nil];
  }));
  EXPECT_TRUE(refuses([&] {
    [graph coordinateAlongAxis:0 withShape:@[ @65536, @65536 ] name:nil];
  }));
}

}  // namespace
