// SPDX-License-Identifier: MIT
// The RNN ops and their gradients.
#pragma once

#import <MetalPerformanceShadersGraph/MPSGraph.h>

typedef NS_ENUM(NSUInteger, MPSGraphRNNActivation) {
  MPSGraphRNNActivationNone = 0,
  MPSGraphRNNActivationRelu = 1,
  MPSGraphRNNActivationTanh = 2,
  MPSGraphRNNActivationSigmoid = 3,
  MPSGraphRNNActivationHardSigmoid = 4,
};

@interface MPSGraphLSTMDescriptor : MPSGraphObject <NSCopying> {
  BOOL _reverse, _bidirectional, _produceCell, _training, _forgetGateLast;
  MPSGraphRNNActivation _inputGateActivation, _forgetGateActivation,
      _cellGateActivation, _outputGateActivation, _activation;
}
@property(readwrite, nonatomic) BOOL reverse;
@property(readwrite, nonatomic) BOOL bidirectional;
@property(readwrite, nonatomic) BOOL produceCell;
@property(readwrite, nonatomic) BOOL training;
@property(readwrite, nonatomic) BOOL forgetGateLast;
@property(readwrite, nonatomic) MPSGraphRNNActivation inputGateActivation;
@property(readwrite, nonatomic) MPSGraphRNNActivation forgetGateActivation;
@property(readwrite, nonatomic) MPSGraphRNNActivation cellGateActivation;
@property(readwrite, nonatomic) MPSGraphRNNActivation outputGateActivation;
@property(readwrite, nonatomic) MPSGraphRNNActivation activation;
+ (instancetype)descriptor;
@end

@interface MPSGraphGRUDescriptor : MPSGraphObject <NSCopying> {
  BOOL _reverse, _bidirectional, _training, _resetGateFirst, _resetAfter,
      _flipZ;
  MPSGraphRNNActivation _updateGateActivation, _resetGateActivation,
      _outputGateActivation;
}
@property(readwrite, nonatomic) BOOL reverse;
@property(readwrite, nonatomic) BOOL bidirectional;
@property(readwrite, nonatomic) BOOL training;
@property(readwrite, nonatomic) BOOL resetGateFirst;
@property(readwrite, nonatomic) BOOL resetAfter;
@property(readwrite, nonatomic) BOOL flipZ;
@property(readwrite, nonatomic) MPSGraphRNNActivation updateGateActivation;
@property(readwrite, nonatomic) MPSGraphRNNActivation resetGateActivation;
@property(readwrite, nonatomic) MPSGraphRNNActivation outputGateActivation;
+ (instancetype)descriptor;
@end

@interface MPSGraphSingleGateRNNDescriptor : MPSGraphObject <NSCopying> {
  BOOL _reverse, _bidirectional, _training;
  MPSGraphRNNActivation _activation;
}
@property(readwrite, nonatomic) BOOL reverse;
@property(readwrite, nonatomic) BOOL bidirectional;
@property(readwrite, nonatomic) BOOL training;
@property(readwrite, nonatomic) MPSGraphRNNActivation activation;
+ (instancetype)descriptor;
@end

@interface MPSGraph (MPSGraphRNNOps)
- (NSArray<MPSGraphTensor*>*)
    LSTMWithSourceTensor:(MPSGraphTensor*)source
         recurrentWeight:(MPSGraphTensor*)recurrentWeight
             inputWeight:(MPSGraphTensor*)inputWeight
                    bias:(MPSGraphTensor*)bias
               initState:(MPSGraphTensor*)initState
                initCell:(MPSGraphTensor*)initCell
                    mask:(MPSGraphTensor*)mask
                peephole:(MPSGraphTensor*)peephole
              descriptor:(MPSGraphLSTMDescriptor*)descriptor
                    name:(NSString*)name;
- (NSArray<MPSGraphTensor*>*)
    LSTMGradientsWithSourceTensor:(MPSGraphTensor*)source
                  recurrentWeight:(MPSGraphTensor*)recurrentWeight
                   sourceGradient:(MPSGraphTensor*)sourceGradient
                           zState:(MPSGraphTensor*)zState
                    cellOutputFwd:(MPSGraphTensor*)cellOutputFwd
                    stateGradient:(MPSGraphTensor*)stateGradient
                     cellGradient:(MPSGraphTensor*)cellGradient
                      inputWeight:(MPSGraphTensor*)inputWeight
                             bias:(MPSGraphTensor*)bias
                        initState:(MPSGraphTensor*)initState
                         initCell:(MPSGraphTensor*)initCell
                             mask:(MPSGraphTensor*)mask
                         peephole:(MPSGraphTensor*)peephole
                       descriptor:(MPSGraphLSTMDescriptor*)descriptor
                             name:(NSString*)name;
@end

// One category at Apple's.
@interface MPSGraph (MPSGraphGRUOps)
- (NSArray<MPSGraphTensor*>*)
    GRUWithSourceTensor:(MPSGraphTensor*)source
        recurrentWeight:(MPSGraphTensor*)recurrentWeight
            inputWeight:(MPSGraphTensor*)inputWeight
                   bias:(MPSGraphTensor*)bias
              initState:(MPSGraphTensor*)initState
                   mask:(MPSGraphTensor*)mask
          secondaryBias:(MPSGraphTensor*)secondaryBias
             descriptor:(MPSGraphGRUDescriptor*)descriptor
                   name:(NSString*)name;
- (NSArray<MPSGraphTensor*>*)
    GRUGradientsWithSourceTensor:(MPSGraphTensor*)source
                 recurrentWeight:(MPSGraphTensor*)recurrentWeight
                  sourceGradient:(MPSGraphTensor*)sourceGradient
                          zState:(MPSGraphTensor*)zState
                       outputFwd:(MPSGraphTensor*)outputFwd
                   stateGradient:(MPSGraphTensor*)stateGradient
                     inputWeight:(MPSGraphTensor*)inputWeight
                            bias:(MPSGraphTensor*)bias
                       initState:(MPSGraphTensor*)initState
                            mask:(MPSGraphTensor*)mask
                   secondaryBias:(MPSGraphTensor*)secondaryBias
                      descriptor:(MPSGraphGRUDescriptor*)descriptor
                            name:(NSString*)name;
- (NSArray<MPSGraphTensor*>*)
    singleGateRNNWithSourceTensor:(MPSGraphTensor*)source
                  recurrentWeight:(MPSGraphTensor*)recurrentWeight
                      inputWeight:(MPSGraphTensor*)inputWeight
                             bias:(MPSGraphTensor*)bias
                        initState:(MPSGraphTensor*)initState
                             mask:(MPSGraphTensor*)mask
                       descriptor:(MPSGraphSingleGateRNNDescriptor*)descriptor
                             name:(NSString*)name;
- (NSArray<MPSGraphTensor*>*)
    singleGateRNNGradientsWithSourceTensor:(MPSGraphTensor*)source
                           recurrentWeight:(MPSGraphTensor*)recurrentWeight
                            sourceGradient:(MPSGraphTensor*)sourceGradient
                                    zState:(MPSGraphTensor*)zState
                             stateGradient:(MPSGraphTensor*)stateGradient
                               inputWeight:(MPSGraphTensor*)inputWeight
                                      bias:(MPSGraphTensor*)bias
                                 initState:(MPSGraphTensor*)initState
                                      mask:(MPSGraphTensor*)mask
                                descriptor:
                                    (MPSGraphSingleGateRNNDescriptor*)descriptor
                                      name:(NSString*)name;
@end
