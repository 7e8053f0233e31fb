// SPDX-License-Identifier: MIT
// Losses. A LossNode's labels are states that are handed to the graph, those
// of a ForwardLossNode are images.
#import "metal/mpsnn/filter_nodes.h"
#import "metal/mpsnn/image_handle.h"

namespace traingraph::metal {
namespace {

MPSCNNLossType mps_type(LossType type) {
  switch (type) {
    case LossType::MeanAbsoluteError:
      return MPSCNNLossTypeMeanAbsoluteError;
    case LossType::SoftmaxCrossEntropy:
      return MPSCNNLossTypeSoftMaxCrossEntropy;
    case LossType::SigmoidCrossEntropy:
      return MPSCNNLossTypeSigmoidCrossEntropy;
    case LossType::CategoricalCrossEntropy:
      return MPSCNNLossTypeCategoricalCrossEntropy;
    case LossType::Hinge:
      return MPSCNNLossTypeHinge;
    case LossType::Huber:
      return MPSCNNLossTypeHuber;
    case LossType::CosineDistance:
      return MPSCNNLossTypeCosineDistance;
    case LossType::Log:
      return MPSCNNLossTypeLog;
    case LossType::KullbackLeiblerDivergence:
      return MPSCNNLossTypeKullbackLeiblerDivergence;
    default:
      return MPSCNNLossTypeMeanSquaredError;
  }
}

MPSCNNReductionType mps_reduction(const nodes::LossDescriptor& d) {
  // One number per image already, whatever the reduction.
  if (d.type == LossType::CosineDistance) return MPSCNNReductionTypeSum;
  switch (d.reduction) {
    case ReductionType::Sum:
      return MPSCNNReductionTypeSum;
    case ReductionType::Mean:
      return MPSCNNReductionTypeMean;
    default:
      return MPSCNNReductionTypeNone;
  }
}

MPSCNNLossDescriptor* mps_descriptor(const FilterSite& site,
                                     const nodes::LossDescriptor& d) {
  MPSCNNLossDescriptor* descriptor =
      [MPSCNNLossDescriptor cnnLossDescriptorWithType:mps_type(d.type)
                                        reductionType:mps_reduction(d)];
  [descriptor setWeight:d.weight];
  [descriptor setLabelSmoothing:d.label_smoothing];
  [descriptor setNumberOfClasses:d.number_of_classes > 1 ? d.number_of_classes
                                                         : site.source()[1]];
  [descriptor setEpsilon:d.epsilon];
  [descriptor setDelta:d.delta];
  return descriptor;
}

}  // namespace

MPSNNFilterNode* make_node(const FilterSite& site, const LossFilter& filter) {
  MPSCNNLossDescriptor* descriptor = mps_descriptor(site, filter.descriptor);
  if (!filter.returns_gradient) {
    return [MPSNNForwardLossNode nodeWithSources:site.images
                                  lossDescriptor:descriptor];
  }
  MPSCNNLossNode* node = [MPSCNNLossNode nodeWithSource:site.image()
                                         lossDescriptor:descriptor];
  [[node inputLabels] setHandle:[TGImageHandle handleOfValue:site.filter.loss]];
  return node;
}

MPSNNFilterNode* make_node(const FilterSite& site,
                           const InitialGradientFilter&) {
  return [MPSNNInitialGradientNode nodeWithSource:site.image()];
}

}  // namespace traingraph::metal
