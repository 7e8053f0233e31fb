// SPDX-License-Identifier: MIT
// Descriptors of pooling.
#import <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>

@implementation MPSGraphPooling2DOpDescriptor

// clang-format off
@synthesize kernelWidth = _kernelWidth;
@synthesize kernelHeight = _kernelHeight;
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
@synthesize returnIndicesMode = _returnIndicesMode;
@synthesize returnIndicesDataType = _returnIndicesDataType;
@synthesize ceilMode = _ceilMode;
@synthesize includeZeroPadToAverage = _includeZeroPadToAverage;
// clang-format on

+ (instancetype)descriptorWithKernelWidth:(NSUInteger)kernelWidth
                             kernelHeight:(NSUInteger)kernelHeight
                                strideInX:(NSUInteger)strideInX
                                strideInY:(NSUInteger)strideInY
                          dilationRateInX:(NSUInteger)dilationRateInX
                          dilationRateInY:(NSUInteger)dilationRateInY
                              paddingLeft:(NSUInteger)paddingLeft
                             paddingRight:(NSUInteger)paddingRight
                               paddingTop:(NSUInteger)paddingTop
                            paddingBottom:(NSUInteger)paddingBottom
                             paddingStyle:(MPSGraphPaddingStyle)paddingStyle
                               dataLayout:
                                   (MPSGraphTensorNamedDataLayout)dataLayout {
  MPSGraphPooling2DOpDescriptor* descriptor = [[[self alloc] init] autorelease];
  [descriptor setKernelWidth:kernelWidth];
  [descriptor setKernelHeight:kernelHeight];
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
  return descriptor;
}

+ (instancetype)descriptorWithKernelWidth:(NSUInteger)kernelWidth
                             kernelHeight:(NSUInteger)kernelHeight
                                strideInX:(NSUInteger)strideInX
                                strideInY:(NSUInteger)strideInY
                             paddingStyle:(MPSGraphPaddingStyle)paddingStyle
                               dataLayout:
                                   (MPSGraphTensorNamedDataLayout)dataLayout {
  MPSGraphPooling2DOpDescriptor* descriptor = [[[self alloc] init] autorelease];
  [descriptor setKernelWidth:kernelWidth];
  [descriptor setKernelHeight:kernelHeight];
  [descriptor setStrideInX:strideInX];
  [descriptor setStrideInY:strideInY];
  [descriptor setPaddingStyle:paddingStyle];
  [descriptor setDataLayout:dataLayout];
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
  _kernelWidth = 1;
  _kernelHeight = 1;
  _strideInX = 1;
  _strideInY = 1;
  _dilationRateInX = 1;
  _dilationRateInY = 1;
  _returnIndicesDataType = MPSDataTypeInt32;
  return self;
}

- (id)copyWithZone:(NSZone*)zone {
  MPSGraphPooling2DOpDescriptor* copy =
      [[[self class] allocWithZone:zone] init];
  [copy setKernelWidth:_kernelWidth];
  [copy setKernelHeight:_kernelHeight];
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
  [copy setReturnIndicesMode:_returnIndicesMode];
  [copy setReturnIndicesDataType:_returnIndicesDataType];
  [copy setCeilMode:_ceilMode];
  [copy setIncludeZeroPadToAverage:_includeZeroPadToAverage];
  return copy;
}

@end

@implementation MPSGraphPooling4DOpDescriptor

// clang-format off
@synthesize kernelSizes = _kernelSizes;
@synthesize strides = _strides;
@synthesize dilationRates = _dilationRates;
@synthesize paddingValues = _paddingValues;
@synthesize paddingStyle = _paddingStyle;
@synthesize returnIndicesMode = _returnIndicesMode;
@synthesize returnIndicesDataType = _returnIndicesDataType;
@synthesize ceilMode = _ceilMode;
@synthesize includeZeroPadToAverage = _includeZeroPadToAverage;
// clang-format on

+ (instancetype)descriptorWithKernelSizes:(NSArray<NSNumber*>*)kernelSizes
                                  strides:(NSArray<NSNumber*>*)strides
                            dilationRates:(NSArray<NSNumber*>*)dilationRates
                            paddingValues:(NSArray<NSNumber*>*)paddingValues
                             paddingStyle:(MPSGraphPaddingStyle)paddingStyle {
  MPSGraphPooling4DOpDescriptor* descriptor = [[[self alloc] init] autorelease];
  [descriptor setKernelSizes:kernelSizes];
  [descriptor setStrides:strides];
  [descriptor setDilationRates:dilationRates];
  [descriptor setPaddingValues:paddingValues];
  [descriptor setPaddingStyle:paddingStyle];
  return descriptor;
}

+ (instancetype)descriptorWithKernelSizes:(NSArray<NSNumber*>*)kernelSizes
                             paddingStyle:(MPSGraphPaddingStyle)paddingStyle {
  MPSGraphPooling4DOpDescriptor* descriptor = [[[self alloc] init] autorelease];
  [descriptor setKernelSizes:kernelSizes];
  [descriptor setPaddingStyle:paddingStyle];
  return descriptor;
}

- (instancetype)init {
  self = [super init];
  if (self == nil) return nil;
  _kernelSizes = [@[ @1, @1, @1, @1 ] copy];
  _strides = [@[ @1, @1, @1, @1 ] copy];
  _dilationRates = [@[ @1, @1, @1, @1 ] copy];
  _paddingValues = [@[ @0, @0, @0, @0, @0, @0, @0, @0 ] copy];
  _returnIndicesDataType = MPSDataTypeInt32;
  return self;
}

- (id)copyWithZone:(NSZone*)zone {
  MPSGraphPooling4DOpDescriptor* copy =
      [[[self class] allocWithZone:zone] init];
  [copy setKernelSizes:_kernelSizes];
  [copy setStrides:_strides];
  [copy setDilationRates:_dilationRates];
  [copy setPaddingValues:_paddingValues];
  [copy setPaddingStyle:_paddingStyle];
  [copy setReturnIndicesMode:_returnIndicesMode];
  [copy setReturnIndicesDataType:_returnIndicesDataType];
  [copy setCeilMode:_ceilMode];
  [copy setIncludeZeroPadToAverage:_includeZeroPadToAverage];
  return copy;
}

- (void)dealloc {
  [_kernelSizes release];
  [_strides release];
  [_dilationRates release];
  [_paddingValues release];
  [super dealloc];
}

@end
