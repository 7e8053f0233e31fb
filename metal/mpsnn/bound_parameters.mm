// SPDX-License-Identifier: MIT
#import "metal/mpsnn/bound_parameters.h"

#include <algorithm>

namespace traingraph::metal {

bool BoundParameters::bind(const UnitMemory& memory,
                           const ImageGraphCode::Update* update) {
  for (const auto& [role, value] : filter().parameters) {
    Variable variable{.role = role,
                      .at = memory.at(plan_.args.at(value)),
                      .bytes = plan_.bytes.at(value),
                      .buffer = {}};
    variable.buffer = memory.buffer(plan_.args.at(value), variable.bytes);
    if (!variable.buffer.get()) return false;
    const int gradient = plan_.gradient_arg(filter_, role);
    if (gradient >= 0) {
      variable.gradient_heap = &heap_of(memory.at(gradient));
      variable.gradient_offset = memory.at(gradient).offset;
    }
    variables_.push_back(std::move(variable));
  }
  if (update == nullptr) return true;
  update_ = update->code->bind(memory);
  for (const auto& write : update->write_backs) {
    write_backs_.push_back(buffer_copy(memory, write));
  }
  return update_ != nullptr;
}

const BoundParameters::Variable* BoundParameters::find(
    std::string_view role) const {
  const auto found = std::ranges::find(variables_, role, &Variable::role);
  return found == variables_.end() ? nullptr : &*found;
}

bool BoundParameters::are_stale() const {
  return std::ranges::any_of(variables_, [](const Variable& variable) {
    return variable.version !=
           heap_of(variable.at).version(variable.at.offset, variable.bytes);
  });
}

void BoundParameters::note_loaded() {
  for (Variable& variable : variables_) {
    variable.version =
        heap_of(variable.at).version(variable.at.offset, variable.bytes);
  }
}

float* BoundParameters::host(const char* role) const {
  const Variable* variable = find(role);
  if (variable == nullptr) return nullptr;
  std::byte* bytes = heap_of(variable->at).bytes().data() + variable->at.offset;
  return reinterpret_cast<float*>(bytes);
}

MPSCommandBuffer* BoundParameters::buffer_for(
    id<MTLCommandBuffer> given) const {
  const bool is_ours = given == (id)buffer_ || given == [buffer_ commandBuffer];
  return is_ours ? buffer_
                 : [MPSCommandBuffer commandBufferWithCommandBuffer:given];
}

void BoundParameters::keep_gradient(id<MTLBlitCommandEncoder> blit,
                                    const char* role,
                                    id<MTLBuffer> gradient) const {
  const Variable* variable = find(role);
  if (variable == nullptr || variable->gradient_heap == nullptr) return;
  encode_copy(blit, {.from = retain(gradient),
                     .to = retain(variable->gradient_heap->whole()),
                     .from_offset = 0,
                     .to_offset = variable->gradient_offset,
                     .bytes = variable->bytes,
                     .written = variable->gradient_heap});
}

bool BoundParameters::update(id<MTLCommandBuffer> given, const char* first,
                             id<MTLBuffer> first_gradient, const char* second,
                             id<MTLBuffer> second_gradient) {
  MPSCommandBuffer* buffer = buffer_for(given);
  id<MTLBlitCommandEncoder> blit = [buffer blitCommandEncoder];
  keep_gradient(blit, first, first_gradient);
  keep_gradient(blit, second, second_gradient);
  [blit endEncoding];
  if (!update_) return false;
  update_->encode(buffer);
  blit = [buffer blitCommandEncoder];
  for (const BufferCopy& copy : write_backs_) encode_copy(blit, copy);
  [blit endEncoding];
  note_loaded();
  return true;
}

MPSCNNConvolutionWeightsAndBiasesState* BoundParameters::update_weights(
    id<MTLCommandBuffer> buffer, MPSCNNConvolutionGradientState* gradient,
    MPSCNNConvolutionDescriptor* descriptor) {
  const bool is_new = update(buffer, "weights", [gradient gradientForWeights],
                             "biases", [gradient gradientForBiases]);
  if (!is_new) return nil;
  return [[[MPSCNNConvolutionWeightsAndBiasesState alloc]
               initWithWeights:find("weights")->buffer.get()
                 weightsOffset:0
                        biases:find("biases")->buffer.get()
                  biasesOffset:0
      cnnConvolutionDescriptor:descriptor] autorelease];
}

}  // namespace traingraph::metal
