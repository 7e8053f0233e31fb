// SPDX-License-Identifier: MIT
#include "traingraph/ctc_loss.h"

#include <vector>

#include "layers/loss_value.h"
#include "layers/validate.h"

namespace traingraph {
namespace {

constexpr const char* kCTC = "CTC";

LossDescriptor loss_descriptor(const CTCDescriptor& ctc) {
  ctc.validate();
  return {.reduction_type = ctc.reduction_type, .weight = ctc.weight};
}

}  // namespace

void CTCDescriptor::validate() const {
  require_option(reduction_type == ReductionType::None ||
                     reduction_type == ReductionType::Sum ||
                     reduction_type == ReductionType::Mean,
                 kCTC, "reduction_type", "none, sum or mean",
                 std::string(to_string(reduction_type)));
  require_option(blank >= 0, kCTC, "blank", "a class, at least 0",
                 std::to_string(blank));
  require_finite(kCTC, "weight", weight);
}

namespace losses {

CTC::CTC(CTCDescriptor descriptor)
    : Loss(LossType::MeanSquaredError, loss_descriptor(descriptor), {}, {},
           kCTC),
      ctc_(descriptor) {}

void CTC::lower(LayerBuilder& builder) const {
  builder.require_sources(2, 4);
  const CtcLossAttrs attrs{
      .blank = ctc_.blank,
      .zero_infinity = ctc_.zero_infinity,
      .divides_by_label_length = ctc_.reduction_type == ReductionType::Mean};
  std::vector<ValueId> inputs;
  for (int i = 0; i < 4; ++i) {
    inputs.push_back(i < builder.num_sources() ? builder.source(i) : kNoValue);
  }
  const ValueId losses =
      builder.append_all(OpKind::CtcLoss, attrs, std::move(inputs)).front();
  add_loss_result(builder, losses, ctc_.reduction_type, ctc_.weight);
}

}  // namespace losses
}  // namespace traingraph
