// SPDX-License-Identifier: MIT
#include "metal/kernels/sources.h"

namespace traingraph::metal {

// Made by cmake/EmbedText.cmake.
const char* const kDropoutSource =
#include "metal/kernels/dropout.metal.text"
    ;
const char* const kStatisticsSource =
#include "metal/kernels/statistics.metal.text"
    ;
const char* const kUpdateSource =
#include "metal/kernels/update.metal.text"
    ;

}  // namespace traingraph::metal
