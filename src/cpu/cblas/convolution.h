// SPDX-License-Identifier: MIT
#pragma once

#include "cpu/cblas/im2col.h"

namespace traingraph::cpu {

// Convolutions whose filters read one channel each, as depthwise ones: loops,
// since their products have too few rows.
void lower_depthwise(UnitBuilder& unit, const ConvolutionSizes& sizes);
void lower_depthwise_input_gradient(UnitBuilder& unit,
                                    const ConvolutionSizes& sizes);
void lower_depthwise_weights_gradient(UnitBuilder& unit,
                                      const ConvolutionSizes& sizes);

// Convolutions for which direct::suits(): loops over the image as it is.
void lower_direct(UnitBuilder& unit, const ConvolutionSizes& sizes);
void lower_direct_input_gradient(UnitBuilder& unit,
                                 const ConvolutionSizes& sizes);
void lower_direct_weights_gradient(UnitBuilder& unit,
                                   const ConvolutionSizes& sizes);

/// Has each channel one filter, or a few?
inline bool is_depthwise(const ConvolutionSizes& sizes) {
  return sizes.in == 1 && sizes.out < 8;
}

}  // namespace traingraph::cpu
