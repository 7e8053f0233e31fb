// SPDX-License-Identifier: MIT
// How the normalizations of single samples see a tensor. One view serves them
// all: layer normalization has one group, whose parameters have a value for
// each element; group and instance normalization have one for each channel.
//
//   (8, 128, 256), axis 2, no groups   outer 1024, groups 1, width 256, inner 1
//   (4, 32, 7, 7), axis 1, 8 groups    outer 4, groups 8, width 4, inner 49
#pragma once

#include "traingraph/op_attrs.h"

namespace traingraph {

/// Element (outer, group, w, inner) in row-major order. Statistics are those of
/// a row (w, inner) and belong to (outer, group); scale and shift to (group,
/// w).
struct SampleView {
  std::int64_t outer = 1, groups = 1, width = 1, inner = 1;

  SampleView(const Shape& shape, const SampleNormAttrs& attrs);

  std::int64_t num_rows() const { return outer * groups; }
  std::int64_t row_length() const { return width * inner; }
  std::int64_t num_parameters() const { return groups * width; }
};

/// The shape of x with one value per group on `axis` and 1 behind.
Shape sample_statistics_shape(const Shape& shape, const SampleNormAttrs& attrs);
/// The shape of scale and shift.
Shape sample_parameters_shape(const Shape& shape, const SampleNormAttrs& attrs);

}  // namespace traingraph
