// SPDX-License-Identifier: MIT
// The texts of the .metal files, with the formulas that they include: what
// Metal compiles when a device is opened.
#pragma once

namespace traingraph::metal {

extern const char* const kDropoutSource;
extern const char* const kStatisticsSource;
extern const char* const kUpdateSource;

}  // namespace traingraph::metal
