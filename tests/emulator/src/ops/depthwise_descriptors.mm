// SPDX-License-Identifier: MIT
// Descriptors of depthwise convolutions.
#import <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>

@implementation MPSGraphDepthwiseConvolution2DOpDescriptor

// clang-format off
@synthesize strideInX = _strideInX;
@synthesize strideInY = _strideInY;
@synthesize dilationRateInX = _dilationRateInX;
@synthesize dilationRateInY = _dilationRateInY;
@synthesize paddingLeft = _paddingLeft;
@synthesize paddingRight = _paddingRight;
@synthesize paddingTop = _paddingTop;
@synthesize paddingBottom = _paddingBottom;
@synthesize paddingStyle = _paddingStyle;
@synthesize dataLayout = _dataLayout;
@synthesize weightsLayout = _weightsLayout;
// clang-format on

+ (instancetype)
    descriptorWithStrideInX:(NSUInteger)strideInX
                  strideInY:(NSUInteger)strideInY
            dilationRateInX:(NSUInteger)dilationRateInX
            dilationRateInY:(NSUInteger)dilationRateInY
                paddingLeft:(NSUInteger)paddingLeft
               paddingRight:(NSUInteger)paddingRight
                 paddingTop:(NSUInteger)paddingTop
              paddingBottom:(NSUInteger)paddingBottom
               paddingStyle:(MPSGraphPaddingStyle)paddingStyle
                 dataLayout:(MPSGraphTensorNamedDataLayout)dataLayout
              weightsLayout:(MPSGraphTensorNamedDataLayout)weightsLayout {
  MPSGraphDepthwiseConvolution2DOpDescriptor* descriptor =
      [[[self alloc] init] autorelease];
  [descriptor setStrideInX:strideInX];
  [descriptor setStrideInY:strideInY];
  [descriptor setDilationRateInX:dilationRateInX];
  [descriptor setDilationRateInY:dilationRateInY];
  [descriptor setPaddingLeft:paddingLeft];
  [descriptor setPaddingRight:paddingRight];
  [descriptor setPaddingTop:paddingTop];
  [descriptor setPaddingBottom:paddingBottom];
  [descriptor setPaddingStyle:paddingStyle];
  [descriptor setDataLayout:dataLayout];
  [descriptor setWeightsLayout:weightsLayout];
  return descriptor;
}

+ (instancetype)
    descriptorWithDataLayout:(MPSGraphTensorNamedDataLayout)dataLayout
               weightsLayout:(MPSGraphTensorNamedDataLayout)weightsLayout {
  MPSGraphDepthwiseConvolution2DOpDescriptor* descriptor =
      [[[self alloc] init] autorelease];
  [descriptor setDataLayout:dataLayout];
  [descriptor setWeightsLayout:weightsLayout];
  return descriptor;
}

- (void)setExplicitPaddingWithPaddingLeft:(NSUInteger)paddingLeft
                             paddingRight:(NSUInteger)paddingRight
                               paddingTop:(NSUInteger)paddingTop
                            paddingBottom:(NSUInteger)paddingBottom {
  _paddingLeft = paddingLeft;
  _paddingRight = paddingRight;
  _paddingTop = paddingTop;
  _paddingBottom = paddingBottom;
  _paddingStyle = MPSGraphPaddingStyleExplicit;
}

- (instancetype)init {
  self = [super init];
  if (self == nil) return nil;
  _strideInX = 1;
  _strideInY = 1;
  _dilationRateInX = 1;
  _dilationRateInY = 1;
  _weightsLayout = MPSGraphTensorNamedDataLayoutOIHW;
  return self;
}

- (id)copyWithZone:(NSZone*)zone {
  MPSGraphDepthwiseConvolution2DOpDescriptor* copy =
      [[[self class] allocWithZone:zone] init];
  [copy setStrideInX:_strideInX];
  [copy setStrideInY:_strideInY];
  [copy setDilationRateInX:_dilationRateInX];
  [copy setDilationRateInY:_dilationRateInY];
  [copy setPaddingLeft:_paddingLeft];
  [copy setPaddingRight:_paddingRight];
  [copy setPaddingTop:_paddingTop];
  [copy setPaddingBottom:_paddingBottom];
  [copy setPaddingStyle:_paddingStyle];
  [copy setDataLayout:_dataLayout];
  [copy setWeightsLayout:_weightsLayout];
  return copy;
}

@end

@implementation MPSGraphDepthwiseConvolution3DOpDescriptor

// clang-format off
@synthesize strides = _strides;
@synthesize dilationRates = _dilationRates;
@synthesize paddingValues = _paddingValues;
@synthesize paddingStyle = _paddingStyle;
@synthesize channelDimensionIndex = _channelDimensionIndex;
// clang-format on

+ (instancetype)descriptorWithStrides:(NSArray<NSNumber*>*)strides
                        dilationRates:(NSArray<NSNumber*>*)dilationRates
                        paddingValues:(NSArray<NSNumber*>*)paddingValues
                         paddingStyle:(MPSGraphPaddingStyle)paddingStyle {
  MPSGraphDepthwiseConvolution3DOpDescriptor* descriptor =
      [[[self alloc] init] autorelease];
  [descriptor setStrides:strides];
  [descriptor setDilationRates:dilationRates];
  [descriptor setPaddingValues:paddingValues];
  [descriptor setPaddingStyle:paddingStyle];
  return descriptor;
}

+ (instancetype)descriptorWithPaddingStyle:(MPSGraphPaddingStyle)paddingStyle {
  MPSGraphDepthwiseConvolution3DOpDescriptor* descriptor =
      [[[self alloc] init] autorelease];
  [descriptor setPaddingStyle:paddingStyle];
  return descriptor;
}

- (instancetype)init {
  self = [super init];
  if (self == nil) return nil;
  _strides = [@[ @1, @1, @1 ] copy];
  _dilationRates = [@[ @1, @1, @1 ] copy];
  _paddingValues = [@[ @0, @0, @0, @0, @0, @0 ] copy];
  _channelDimensionIndex = -4;
  return self;
}

- (id)copyWithZone:(NSZone*)zone {
  MPSGraphDepthwiseConvolution3DOpDescriptor* copy =
      [[[self class] allocWithZone:zone] init];
  [copy setStrides:_strides];
  [copy setDilationRates:_dilationRates];
  [copy setPaddingValues:_paddingValues];
  [copy setPaddingStyle:_paddingStyle];
  [copy setChannelDimensionIndex:_channelDimensionIndex];
  return copy;
}

- (void)dealloc {
  [_strides release];
  [_dilationRates release];
  [_paddingValues release];
  [super dealloc];
}

@end
