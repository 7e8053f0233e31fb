// SPDX-License-Identifier: MIT
// MPSKernel, MPSCNNKernel and MPSNNDefaultPadding.
#import "cnn_kernel.h"
#import "objects.h"

using emulator::refuse;

const MTLRegion MPSRectNoClip = {{0, 0, 0},
                                 {NSUIntegerMax, NSUIntegerMax, NSUIntegerMax}};

@implementation MPSKernel
@synthesize options = _options, device = _device, label = _label;

- (instancetype)initWithDevice:(id<MTLDevice>)device {
  if (!device) refuse(object_getClassName(self), @"the device is nil");
  self = [super init];
  emulator::count_birth(self);
  _device = [device retain];
  return self;
}

- (void)dealloc {
  emulator::count_death(self);
  [_device release];
  [_label release];
  [super dealloc];
}
@end

@implementation MPSCNNKernel
@synthesize offset = _offset, edgeMode = _edgeMode, kernelWidth = _kernelWidth,
            kernelHeight = _kernelHeight, strideInPixelsX = _strideInPixelsX,
            strideInPixelsY = _strideInPixelsY, dilationRateX = _dilationRateX,
            dilationRateY = _dilationRateY;

- (instancetype)initWithDevice:(id<MTLDevice>)device
                        window:(const emulator::mpsnn::Window&)window
                      edgeMode:(emulator::mpsnn::EdgeMode)mode {
  self = [super initWithDevice:device];
  _kernelWidth = window.kernel_width;
  _kernelHeight = window.kernel_height;
  _strideInPixelsX = window.stride_x;
  _strideInPixelsY = window.stride_y;
  _dilationRateX = window.dilation_x;
  _dilationRateY = window.dilation_y;
  _edgeMode = static_cast<MPSImageEdgeMode>(mode);
  return self;
}
@end

@interface MPSNNDefaultPadding ()
- (instancetype)initWithMethod:(MPSNNPaddingMethod)method;
@end

@implementation MPSNNDefaultPadding
+ (instancetype)paddingWithMethod:(MPSNNPaddingMethod)method {
  return [[[self alloc] initWithMethod:method] autorelease];
}

+ (instancetype)paddingForTensorflowAveragePooling {
  return [self paddingWithMethod:MPSNNPaddingMethodCustom |
                                 MPSNNPaddingMethodSizeSame |
                                 MPSNNPaddingMethodAddRemainderToBottomRight];
}

+ (instancetype)paddingForTensorflowAveragePoolingValidOnly {
  return [self paddingWithMethod:MPSNNPaddingMethodCustom |
                                 MPSNNPaddingMethodSizeValidOnly |
                                 MPSNNPaddingMethodAddRemainderToBottomRight];
}

- (instancetype)initWithMethod:(MPSNNPaddingMethod)method {
  self = [super init];
  emulator::count_birth(self);
  _paddingMethod = method;
  return self;
}

- (void)dealloc {
  emulator::count_death(self);
  [super dealloc];
}

- (MPSNNPaddingMethod)paddingMethod {
  return _paddingMethod;
}

- (NSString*)label {
  return @"MPSNNDefaultPadding";
}

/// What makes the Custom bit of TensorFlow's average pooling: windows are
/// clipped at the edges.
- (MPSImageDescriptor*)
    destinationImageDescriptorForSourceImages:(NSArray<MPSImage*>*)images
                                 sourceStates:(NSArray<MPSState*>*)states
                                    forKernel:(MPSKernel*)kernel
                          suggestedDescriptor:(MPSImageDescriptor*)descriptor {
  (void)images, (void)states;
  if ([kernel isKindOfClass:[MPSCNNKernel class]]) {
    [(MPSCNNKernel*)kernel setEdgeMode:MPSImageEdgeModeClamp];
  }
  return descriptor;
}

+ (BOOL)supportsSecureCoding {
  return YES;
}
- (void)encodeWithCoder:(NSCoder*)coder {
  [coder encodeObject:[NSNumber numberWithUnsignedInteger:_paddingMethod]
               forKey:@"paddingMethod"];
}
- (instancetype)initWithCoder:(NSCoder*)coder {
  return [self initWithMethod:[[coder decodeObjectForKey:@"paddingMethod"]
                                  unsignedIntegerValue]];
}
@end
