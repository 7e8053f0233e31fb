// SPDX-License-Identifier: MIT
#import "metal/mpsnn/bound_parameters.h"

#include <algorithm>
#include <array>

#import "metal/blit.h"
#import "metal/kernel_code.h"
#include "metal/kernels/statistics.h"

namespace traingraph::metal {
namespace {

std::uint32_t num_floats(std::size_t bytes) {
  return static_cast<std::uint32_t>(bytes / sizeof(float));
}

[[noreturn]] void fail_missing(const char* role) {
  [NSException raise:NSInternalInconsistencyException
              format:@"MPSNN computed no %s", role];
  __builtin_unreachable();
}

}  // namespace

std::int64_t BoundParameters::num_parts() const {
  const auto* norm = std::get_if<NormalizationFilter>(&filter().attrs);
  if (norm == nullptr || norm->kind == StatisticsOf::Batch) return 1;
  return plan_.shapes.at(filter().sources.front())[0];
}

bool BoundParameters::bind(const UnitMemory& memory, ValueId value,
                           Variable& variable) const {
  variable.at = memory.at(plan_.args.at(value));
  variable.bytes = plan_.bytes.at(value);
  variable.buffer = memory.buffer(plan_.args.at(value), variable.bytes);
  if (!variable.buffer.get()) return false;
  const auto news = plan_.news.find(value);
  if (news != plan_.news.end()) {
    variable.news = memory.buffer(news->second, variable.bytes);
    if (!variable.news.get()) return false;
  }
  const int gradient = plan_.gradient_arg(filter_, variable.role);
  if (gradient < 0) return true;
  variable.gradient_heap = &heap_of(memory.at(gradient));
  variable.gradient_offset = memory.at(gradient).offset;
  variable.gradient = memory.buffer(gradient, variable.bytes);
  if (num_parts() > 1) {
    variable.parts = adopt<id<MTLBuffer>>([device_.metal.get()
        newBufferWithLength:num_parts() * variable.bytes
                    options:MTLResourceStorageModeShared]);
    if (!variable.parts.get()) return false;
  }
  return variable.gradient.get() != nil;
}

bool BoundParameters::bind(const UnitMemory& memory,
                           const ImageGraphCode::Update* update) {
  for (const auto& [role, value] : filter().parameters) {
    Variable& variable = variables_.emplace_back();
    variable.role = role;
    if (!bind(memory, value, variable)) return false;
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
    return variable.is_loaded() &&
           variable.version !=
               heap_of(variable.at).version(variable.at.offset, variable.bytes);
  });
}

void BoundParameters::note_loaded() {
  for (Variable& variable : variables_) {
    variable.version =
        heap_of(variable.at).version(variable.at.offset, variable.bytes);
  }
}

void BoundParameters::begin(MPSCommandBuffer* buffer) {
  buffer_ = buffer;
  has_gradients_ = has_statistics_ = false;
}

const char* BoundParameters::missing() const {
  for (const Variable& variable : variables_) {
    const bool is_wanted = update_ || variable.gradient_heap;
    if (is_wanted && !has_gradients_) return "gradients of parameters";
    if (!variable.is_loaded() && !has_statistics_) return "statistics";
  }
  return nullptr;
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

/// Fewer parts than images are of all of them.
void BoundParameters::require_parts(const Gradient& gradient) {
  if (!gradient.is_wanted()) return;
  const std::size_t given = gradient.parts.size();
  const Variable& of = *gradient.of;
  const std::size_t most =
      of.parts.get() ? [of.parts.get() length] / of.bytes : 1;
  const bool has_nil = std::ranges::any_of(
      gradient.parts, [](id<MTLBuffer> part) { return !part; });
  if (given < 1 || given > most || has_nil) {
    fail_missing(("gradient of " + of.role).c_str());
  }
}

void BoundParameters::copy(id<MTLBlitCommandEncoder> blit,
                           const Gradient& gradient) const {
  if (!gradient.is_wanted()) return;
  const Variable& of = *gradient.of;
  if (gradient.parts.size() == 1) {
    return encode_copy(blit, device_.limits,
                       {.from = retain(gradient.parts.front()),
                        .to = retain(of.gradient_heap->whole()),
                        .from_offset = 0,
                        .to_offset = of.gradient_offset,
                        .bytes = of.bytes,
                        .written = of.gradient_heap});
  }
  std::size_t offset = 0;
  for (id<MTLBuffer> part : gradient.parts) {
    blit_copy(blit, device_.limits, {part, 0}, {of.parts.get(), offset},
              of.bytes);
    offset += of.bytes;
  }
}

void BoundParameters::add_up(MPSCommandBuffer* buffer,
                             const Gradient& gradient) const {
  if (!gradient.is_wanted() || gradient.parts.size() == 1) return;
  const Variable& of = *gradient.of;
  of.gradient_heap->note_write(of.gradient_offset, of.bytes);
  const auto rows = static_cast<std::uint32_t>(gradient.parts.size());
  encode_kernel(
      device_,
      launch_sum_rows({.num_rows = rows, .count = num_floats(of.bytes)}),
      std::array{of.parts, of.gradient}, buffer);
}

bool BoundParameters::update(id<MTLCommandBuffer> given, const Gradient& first,
                             const Gradient& second) {
  has_gradients_ = true;
  require_parts(first);
  require_parts(second);
  MPSCommandBuffer* buffer = buffer_for(given);
  if (first.is_wanted() || second.is_wanted()) {
    id<MTLBlitCommandEncoder> blit = [buffer blitCommandEncoder];
    copy(blit, first);
    copy(blit, second);
    [blit endEncoding];
    add_up(buffer, first);
    add_up(buffer, second);
  }
  if (!update_) return false;
  update_->encode(buffer);
  id<MTLBlitCommandEncoder> blit = [buffer blitCommandEncoder];
  for (const BufferCopy& copy : write_backs_)
    encode_copy(blit, device_.limits, copy);
  [blit endEncoding];
  note_loaded();
  return true;
}

MPSCNNConvolutionWeightsAndBiasesState* BoundParameters::update_weights(
    id<MTLCommandBuffer> buffer, MPSCNNConvolutionGradientState* gradient,
    MPSCNNConvolutionDescriptor* descriptor) {
  const GradientParts weights{[gradient gradientForWeights]};
  const GradientParts biases{[gradient gradientForBiases]};
  if (!update(buffer, {find("weights"), weights}, {find("biases"), biases})) {
    return nil;
  }
  return [[[MPSCNNConvolutionWeightsAndBiasesState alloc]
               initWithWeights:find("weights")->buffer.get()
                 weightsOffset:0
                        biases:find("biases")->buffer.get()
                  biasesOffset:0
      cnnConvolutionDescriptor:descriptor] autorelease];
}

MPSCNNNormalizationGammaAndBetaState* BoundParameters::update_gamma_and_beta(
    id<MTLCommandBuffer> buffer, const GradientParts& gamma,
    const GradientParts& beta) {
  if (!update(buffer, {find("gamma"), gamma}, {find("beta"), beta})) return nil;
  return [[[MPSCNNNormalizationGammaAndBetaState alloc]
      initWithGamma:find("gamma")->buffer.get()
               beta:find("beta")->buffer.get()] autorelease];
}

void BoundParameters::move(MPSCommandBuffer* buffer, const char* role,
                           id<MTLBuffer> batch, float scale) const {
  const Variable& variable = *find(role);
  if (!batch) fail_missing(role);
  const MoveParams params{
      .momentum = std::get<NormalizationFilter>(filter().attrs).momentum,
      .scale = scale,
      .count = num_floats(variable.bytes)};
  encode_kernel(device_, launch_move_statistics(params),
                std::array{variable.buffer, retain(batch), variable.news},
                buffer);
}

void BoundParameters::move_statistics(id<MTLCommandBuffer> given,
                                      id<MTLBuffer> mean,
                                      id<MTLBuffer> variance) {
  has_statistics_ = true;
  const Variable* first = find("mean");
  if (first == nullptr || first->is_loaded()) return;
  MPSCommandBuffer* buffer = buffer_for(given);
  // Running variances are unbiased, so the number of samples counts.
  const Shape& shape = plan_.shapes.at(filter().sources.front());
  const auto count = static_cast<float>(shape[0] * shape[2] * shape[3]);
  move(buffer, "mean", mean, 1);
  move(buffer, "variance", variance, count > 1 ? count / (count - 1) : 1);
}

}  // namespace traingraph::metal
