// SPDX-License-Identifier: MIT
// The LSTM and its gradients.
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
