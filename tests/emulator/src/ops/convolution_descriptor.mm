// SPDX-License-Identifier: MIT
// Descriptor of 2-D convolutions.
#import <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>

@implementation MPSGraphConvolution2DOpDescriptor

// clang-format off
@synthesize strideInX = _strideInX;
@synthesize strideInY = _strideInY;
@synthesize dilationRateInX = _dilationRateInX;
@synthesize dilationRateInY = _dilationRateInY;
@synthesize paddingLeft = _paddingLeft;
@synthesize paddingRight = _paddingRight;
@synthesize paddingTop = _paddingTop;
@synthesize paddingBottom = _paddingBottom;
@synthesize groups = _groups;
@synthesize paddingStyle = _paddingStyle;
@synthesize dataLayout = _dataLayout;
@synthesize weightsLayout = _weightsLayout;
// clang-format on

+ (instancetype)
    descriptorWithStrideInX:(NSUInteger)strideInX
                  strideInY:(NSUInteger)strideInY
            dilationRateInX:(NSUInteger)dilationRateInX
            dilationRateInY:(NSUInteger)dilationRateInY
                     groups:(NSUInteger)groups
                paddingLeft:(NSUInteger)paddingLeft
               paddingRight:(NSUInteger)paddingRight
                 paddingTop:(NSUInteger)paddingTop
              paddingBottom:(NSUInteger)paddingBottom
               paddingStyle:(MPSGraphPaddingStyle)paddingStyle
                 dataLayout:(MPSGraphTensorNamedDataLayout)dataLayout
              weightsLayout:(MPSGraphTensorNamedDataLayout)weightsLayout {
  MPSGraphConvolution2DOpDescriptor* descriptor =
      [[[self alloc] init] autorelease];
  [descriptor setStrideInX:strideInX];
  [descriptor setStrideInY:strideInY];
  [descriptor setDilationRateInX:dilationRateInX];
  [descriptor setDilationRateInY:dilationRateInY];
  [descriptor setGroups:groups];
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
    descriptorWithStrideInX:(NSUInteger)strideInX
                  strideInY:(NSUInteger)strideInY
            dilationRateInX:(NSUInteger)dilationRateInX
            dilationRateInY:(NSUInteger)dilationRateInY
                     groups:(NSUInteger)groups
               paddingStyle:(MPSGraphPaddingStyle)paddingStyle
                 dataLayout:(MPSGraphTensorNamedDataLayout)dataLayout
              weightsLayout:(MPSGraphTensorNamedDataLayout)weightsLayout {
  MPSGraphConvolution2DOpDescriptor* descriptor =
      [[[self alloc] init] autorelease];
  [descriptor setStrideInX:strideInX];
  [descriptor setStrideInY:strideInY];
  [descriptor setDilationRateInX:dilationRateInX];
  [descriptor setDilationRateInY:dilationRateInY];
  [descriptor setGroups:groups];
  [descriptor setPaddingStyle:paddingStyle];
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
  _groups = 1;
  _weightsLayout = MPSGraphTensorNamedDataLayoutOIHW;
  return self;
}

- (id)copyWithZone:(NSZone*)zone {
  MPSGraphConvolution2DOpDescriptor* copy =
      [[[self class] allocWithZone:zone] init];
  [copy setStrideInX:_strideInX];
  [copy setStrideInY:_strideInY];
  [copy setDilationRateInX:_dilationRateInX];
  [copy setDilationRateInY:_dilationRateInY];
  [copy setPaddingLeft:_paddingLeft];
  [copy setPaddingRight:_paddingRight];
  [copy setPaddingTop:_paddingTop];
  [copy setPaddingBottom:_paddingBottom];
  [copy setGroups:_groups];
  [copy setPaddingStyle:_paddingStyle];
  [copy setDataLayout:_dataLayout];
  [copy setWeightsLayout:_weightsLayout];
  return copy;
}

@end
