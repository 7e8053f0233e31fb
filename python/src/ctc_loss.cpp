// SPDX-License-Identifier: MIT
// Connectionist temporal classification and its descriptor.
#include "traingraph/ctc_loss.h"

#include "rows.h"

namespace traingraph::python {

using losses::CTC;
using losses::Loss;

namespace {

constexpr const char* kCTCDescriptorDoc = R"pbdoc(
    The options of losses.CTC.

    Raises:
        InvalidArgument: for options out of range.
)pbdoc";

constexpr const char* kCTCDoc = R"pbdoc(
    Connectionist temporal classification: labels in order, of steps nobody has assigned.

    For speech and handwriting (Graves et al. 2006). A path has one class per step; it
    reads as labels when repetitions become one and blanks are then left out. The loss of
    a sample is ``-ln(sum over paths that read as its labels of the product of
    softmax(y)[path])``; the softmax is part of it.

    The prediction is (N, T, C), scores of C classes at T steps. Labels are (N, S), int32
    or int64; further loss_labels are the lengths of predictions and of labels, int32 (N).
    Without them a prediction has T steps. The labels of a sample end at its label length,
    or before the first -1; what is behind is padding, of any value. None is the blank:
    InvalidArgument from the call that gives the data.

    There is one loss for each sample. "mean" divides each by the length of its labels
    first, as PyTorch does, then their sum by N. A sample without a path has an infinite
    loss and NaN as gradient; both are 0 with zero_infinity. It takes no weights.

    Raises:
        InvalidArgument: for options out of range; from node(), for a blank that is no
            class.
        ShapeError: from node() and compile(), for labels and lengths that do not fit.

    Example:
        >>> sound = tg.Tensor((8, 100, 16), name="sound")
        >>> text = tg.Tensor((8, 20), "int32", name="text")
        >>> g = tg.Graph()
        >>> scores = g.sequence(sound, tg.layers.GRU(32), tg.layers.FullyConnected(27))
        >>> t = tg.TrainingGraph([g], tg.losses.CTC(), tg.optimizers.Adam(1e-3))
        >>> t.add_inputs({"sound": sound}, loss_labels={"text": text})
        >>> t.compile("cpu")
)pbdoc";

constexpr const char* kCTCReductionDoc =
    "\"mean\", \"sum\" or \"none\", over the batch.";
constexpr const char* kCTCBlankDoc = "Which class is the blank.";
constexpr const char* kCTCInfinityDoc = "Do samples without a path count as 0?";

}  // namespace

void bind_ctc_loss(py::module_& m) {
  bind_descriptor<CTCDescriptor>(
      m, "CTCDescriptor", kCTCDescriptorDoc,
      row("reduction_type", &CTCDescriptor::reduction_type, kCTCReductionDoc),
      py::kw_only(), row("blank", &CTCDescriptor::blank, kCTCBlankDoc),
      row("zero_infinity", &CTCDescriptor::zero_infinity, kCTCInfinityDoc),
      row("weight", &CTCDescriptor::weight, "A factor of the loss."));
  BoundClass<CTC, Loss, std::shared_ptr<CTC>> type(m, "CTC", kCTCDoc);
  const auto build = [](const std::string& label,
                        const CTCDescriptor& descriptor) {
    return make_layer<CTC>(label, descriptor);
  };
  def_named(type, "CTC", build,
            plain<CTCDescriptor>("descriptor",
                                 "A CTCDescriptor, in place of all others."));
  def_named<CTCDescriptor>(
      type, "CTC", build,
      row("reduction_type", &CTCDescriptor::reduction_type, kCTCReductionDoc),
      py::kw_only(), row("blank", &CTCDescriptor::blank, kCTCBlankDoc),
      row("zero_infinity", &CTCDescriptor::zero_infinity, kCTCInfinityDoc),
      row("weight", &CTCDescriptor::weight, "A factor of the loss."));
  type.def_property_readonly("ctc_descriptor", &CTC::ctc_descriptor,
                             "The options of the loss.");
}

}  // namespace traingraph::python
