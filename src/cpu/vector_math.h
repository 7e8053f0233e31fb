// SPDX-License-Identifier: MIT
// The functions of formulas/fast_math.h, which loops over vectorise.
#pragma once

#include "formulas/fast_math.h"

namespace traingraph::cpu {

using formulas::fast_ceil;
using formulas::fast_erfc;
using formulas::fast_exp;
using formulas::fast_exp_below;
using formulas::fast_expm1;
using formulas::fast_floor;
using formulas::fast_log1p_unit;
using formulas::fast_round;
using formulas::fast_sigmoid;
using formulas::fast_tanh;
using formulas::leaky;

}  // namespace traingraph::cpu
