// SPDX-License-Identifier: MIT
// The LSTM and its gradients, without input weights and in one direction: what
// metal/ calls.
#include "../arithmetic/rnn.h"

#include "checks.h"

using namespace emulator;

namespace {

Lstm lstm_of(const char* op, MPSGraphLSTMDescriptor* descriptor) {
  if (!descriptor) refuse(op, @"the descriptor is nil");
  if ([descriptor bidirectional]) {
    refuse(op, @"both directions at once are not emulated");
  }
  // Without one of these it is not documented which results there are.
  if (![descriptor training] || ![descriptor produceCell]) {
    refuse(op, @"only training with cells is emulated");
  }
  const auto activation = [](MPSGraphRNNActivation type) {
    return static_cast<RnnActivation>(type);
  };
  return {.is_reverse = [descriptor reverse] != NO,
          .is_forget_last = [descriptor forgetGateLast] != NO,
          .activations = {activation([descriptor inputGateActivation]),
                          activation([descriptor forgetGateActivation]),
                          activation([descriptor cellGateActivation]),
                          activation([descriptor outputGateActivation]),
                          activation([descriptor activation])}};
}

/// Inputs that may be nil, with the shapes that they must have.
class Optional {
 public:
  Optional(const char* op, NSArray<MPSGraphTensor*>* required)
      : op_(op), inputs_([required mutableCopy]) {
    [inputs_ autorelease];
  }
  bool add(NSString* what, MPSGraphTensor* tensor, const Dims& shape) {
    if (!tensor) return false;
    require_shape(op_, what, shape, type_of(tensor).shape);
    [inputs_ addObject:tensor];
    return true;
  }
  NSArray<MPSGraphTensor*>* inputs() const { return inputs_; }

 private:
  const char* op_;
  NSMutableArray<MPSGraphTensor*>* inputs_;
};

struct Size {
  Dims gates, states, state, weight, peephole;

  Size(const char* op, const Type& source, const Type& recurrent) {
    if (source.shape.size() != 3) {
      refuse(op, @"%@ must be (T, N, 4H)", describe(source));
    }
    if (recurrent.shape.size() != 2) {
      refuse(op, @"%@ must be (4H, H)", describe(recurrent));
    }
    const std::int64_t hidden = recurrent.shape[1];
    gates = {source.shape[0], source.shape[1], 4 * hidden};
    states = {source.shape[0], source.shape[1], hidden};
    state = {source.shape[1], hidden};
    weight = {4 * hidden, hidden};
    peephole = {4 * hidden};
    require_shape(op, @"the source", gates, source.shape);
    require_shape(op, @"the recurrent weight", weight, recurrent.shape);
  }
};

}  // namespace

@implementation MPSGraph (MPSGraphRNNOps)

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
                    name:(NSString*)name {
  const char* op = "LSTM";
  if (inputWeight || bias) refuse(op, @"input weights are not emulated");
  Lstm lstm = lstm_of(op, descriptor);
  NSArray* required = inputs_of(op, {source, recurrentWeight});
  const auto types = operands(self, op, required, Elements::kFloat);
  const Size size(op, types[0], types[1]);
  Optional optional(op, required);
  lstm.has_state = optional.add(@"the initial state", initState, size.state);
  lstm.has_cell = optional.add(@"the initial cell", initCell, size.state);
  lstm.has_mask = optional.add(@"the mask", mask, size.state);
  lstm.has_peephole = optional.add(@"the peephole", peephole, size.peephole);
  operands(self, op, optional.inputs(), Elements::kFloat);
  const std::uint32_t type = types[0].data_type;
  return add_operation(
      self, op, name, optional.inputs(),
      std::vector<Type>{
          {type, size.states}, {type, size.states}, {type, size.gates}},
      emulator::lstm(lstm));
}

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
                             name:(NSString*)name {
  const char* op = "LSTMGradients";
  if (inputWeight || bias) refuse(op, @"input weights are not emulated");
  Lstm lstm = lstm_of(op, descriptor);
  const Type source_type = operand(self, op, source, Elements::kFloat);
  NSArray* required =
      inputs_of(op, {recurrentWeight, sourceGradient, zState, cellOutputFwd});
  const auto types = operands(self, op, required, Elements::kFloat);
  const Size size(op, source_type, types[0]);
  require_shape(op, @"the source gradient", size.states, types[1].shape);
  require_shape(op, @"the training state", size.gates, types[2].shape);
  require_shape(op, @"the cells", size.states, types[3].shape);
  Optional optional(op, required);
  lstm.has_state_gradient =
      optional.add(@"the state gradient", stateGradient, size.state);
  lstm.has_cell_gradient =
      optional.add(@"the cell gradient", cellGradient, size.state);
  lstm.has_state = optional.add(@"the initial state", initState, size.state);
  lstm.has_cell = optional.add(@"the initial cell", initCell, size.state);
  lstm.has_mask = optional.add(@"the mask", mask, size.state);
  lstm.has_peephole = optional.add(@"the peephole", peephole, size.peephole);
  operands(self, op, optional.inputs(), Elements::kFloat);
  const std::uint32_t type = types[0].data_type;
  std::vector<Type> results{{type, size.gates}, {type, size.weight}};
  if (lstm.has_peephole) results.push_back({type, size.peephole});
  if (lstm.has_state) results.push_back({type, size.state});
  if (lstm.has_cell) results.push_back({type, size.state});
  return add_operation(self, op, name, optional.inputs(), results,
                       lstm_gradients(lstm));
}

@end
