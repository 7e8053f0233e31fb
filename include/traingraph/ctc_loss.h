// SPDX-License-Identifier: MIT
// Connectionist temporal classification: the loss of a sequence of labels when
// nobody says which step has which label (speech, handwriting).
//
// The prediction is (N, T, C), scores of C classes at T steps; one class is the
// blank. Labels are (N, S), int32 or int64. A path has one class per step; it
// reads as labels when repetitions become one and blanks are then left out. The
// loss of a sample is
//   -ln sum over paths that read as its labels of prod_t softmax(y_t)[path_t]
//
// Further sources are the lengths of predictions and of labels, both (N), which
// count as the nearest that there is, 0 to T or S. Without lengths a prediction
// has T steps. Labels end at their length, or before the first -1; what is
// behind is padding, and may be anything. Up to there labels are classes and
// none is the blank: data that the host gives is checked.
//
// Where no path reads as the labels (they are longer than the prediction, with
// one more step for each that repeats the one before it) the loss is infinite,
// and the gradient is NaN; with `zero_infinity` both are 0.
//
// Source of the idea: Graves et al., Connectionist Temporal Classification,
// 2006.
#pragma once

#include <cstdint>

#include "traingraph/losses.h"

namespace traingraph {

/// Checked by the layer: InvalidArgument.
struct TRAINGRAPH_API CTCDescriptor {
  /// None gives the losses of samples, Sum adds them up. Mean, as PyTorch's,
  /// first divides each by the length of its labels (by 1 where that is 0),
  /// then the sum by N.
  ReductionType reduction_type = ReductionType::Mean;
  /// Which class it is; the node checks that there is one.
  std::int64_t blank = 0;
  bool zero_infinity = false;
  float weight = 1;

  /// Throws InvalidArgument naming the first bad field.
  void validate() const;
  bool operator==(const CTCDescriptor&) const = default;
};

namespace losses {

/// Takes no weights; descriptor() of the base says nothing of the type.
class TRAINGRAPH_API CTC : public Loss {
 public:
  explicit CTC(CTCDescriptor descriptor = {});
  CTCDescriptor ctc_descriptor() const { return ctc_; }
  void lower(LayerBuilder& builder) const override;

 private:
  CTCDescriptor ctc_;
};

}  // namespace losses
}  // namespace traingraph
