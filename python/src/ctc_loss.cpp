// SPDX-License-Identifier: MIT
// Connectionist temporal classification and its descriptor.
#include "traingraph/ctc_loss.h"

#include "rows.h"

namespace traingraph::python {

using losses::CTC;
using losses::Loss;

void bind_ctc_loss(py::module_& m) {
  bind_descriptor<CTCDescriptor>(
      m, "CTCDescriptor", "The options of losses.CTC.",
      row("reduction_type", &CTCDescriptor::reduction_type), py::kw_only(),
      row("blank", &CTCDescriptor::blank),
      row("zero_infinity", &CTCDescriptor::zero_infinity),
      row("weight", &CTCDescriptor::weight));
  BoundClass<CTC, Loss, std::shared_ptr<CTC>> type(
      m, "CTC",
      "Connectionist temporal classification: -ln of the probability of all "
      "paths that read as the labels. The prediction is (N, T, C), scores of "
      "classes at each step, whose softmax is part of the loss; labels are "
      "(N, S), int32 or int64, as further loss_labels the lengths of "
      "predictions and of labels, int32 (N). Without lengths a prediction has "
      "T steps, and labels end before the first -1. \"mean\" divides each loss "
      "by the length of its labels first, as PyTorch does. A sample without a "
      "path has an infinite loss and NaN as gradient, with zero_infinity 0 "
      "and 0. Takes no weights. It has a ctc_descriptor; descriptor says "
      "nothing of the type.");
  const auto build = [](const std::string& label,
                        const CTCDescriptor& descriptor) {
    return make_layer<CTC>(label, descriptor);
  };
  def_named(type, "CTC", build, plain<CTCDescriptor>("descriptor"));
  def_named<CTCDescriptor>(
      type, "CTC", build, row("reduction_type", &CTCDescriptor::reduction_type),
      py::kw_only(), row("blank", &CTCDescriptor::blank),
      row("zero_infinity", &CTCDescriptor::zero_infinity),
      row("weight", &CTCDescriptor::weight));
  type.def_property_readonly("ctc_descriptor", &CTC::ctc_descriptor);
}

}  // namespace traingraph::python
