// SPDX-License-Identifier: MIT
// Which recurrent ops are MPSGraph's own and which are composed.
#include "metal/ops/rnn_choice.h"

#include <gtest/gtest.h>

namespace traingraph::metal {
namespace {

using enum ActivationType;

TEST(RnnChoice, TakesMpsGraphsWhereItMeansTheSame) {
  const LstmAttrs plain{}, reverse{.reverse = true, .forget_gate_last = true};
  EXPECT_TRUE(has_mps_lstm(plain, false, false));
  EXPECT_TRUE(has_mps_lstm(reverse, true, false));
  const LstmAttrs relu{
      .cell_gate_activation = ReLU, .cell_gate_a = 0, .activation = None};
  EXPECT_TRUE(has_mps_lstm(relu, false, false));
}

TEST(RnnChoice, ComposesTheRest) {
  const LstmAttrs new_cell{.output_peephole_reads_new_cell = true};
  EXPECT_TRUE(has_mps_lstm(new_cell, /*has_peephole=*/false, false));
  EXPECT_FALSE(has_mps_lstm(new_cell, /*has_peephole=*/true, false));
  EXPECT_FALSE(has_mps_lstm({}, false, /*has_lengths=*/true));
  for (const LstmAttrs& attrs :
       {LstmAttrs{.input_gate_activation = HardSigmoid, .input_gate_a = 0.3f},
        LstmAttrs{.forget_gate_activation = GELU},
        LstmAttrs{.cell_gate_activation = ReLU, .cell_gate_a = 0.1f},
        LstmAttrs{.output_gate_activation = Tanh, .output_gate_a = 2},
        LstmAttrs{.activation = Tanh, .activation_b = 2}}) {
    EXPECT_FALSE(has_mps_lstm(attrs, false, false));
  }
}

TEST(RnnChoice, OfGruAndSingleGate) {
  const GruAttrs all{.reverse = true,
                     .reset_gate_first = true,
                     .reset_after = true,
                     .flip_z = true,
                     .output_gate_activation = None};
  EXPECT_TRUE(has_mps_gru({}, false));
  EXPECT_TRUE(has_mps_gru(all, false));
  EXPECT_FALSE(has_mps_gru({}, /*has_lengths=*/true));
  EXPECT_FALSE(has_mps_gru({.update_gate_activation = GELU}, false));
  EXPECT_FALSE(has_mps_gru({.output_gate_a = 2}, false));
  EXPECT_TRUE(has_mps_single_gate({}, false));
  EXPECT_FALSE(has_mps_single_gate({}, /*has_lengths=*/true));
  EXPECT_FALSE(has_mps_single_gate({.activation_a = 0.1f}, false));
}

}  // namespace
}  // namespace traingraph::metal
