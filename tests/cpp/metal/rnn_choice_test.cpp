// SPDX-License-Identifier: MIT
// Which recurrent ops are MPSGraph's own and which are composed.
#include "metal/ops/rnn_choice.h"

#include <gtest/gtest.h>

namespace traingraph::metal {
namespace {

using enum ActivationType;

TEST(RnnChoice, TakesMpsGraphsWhereItMeansTheSame) {
  const LstmAttrs plain{}, reverse{.reverse = true, .forget_gate_last = true};
  EXPECT_TRUE(has_mps_rnn(plain, false, false));
  EXPECT_TRUE(has_mps_rnn(reverse, true, false));
  const LstmAttrs relu{
      .cell_gate_activation = ReLU, .cell_gate_a = 0, .activation = None};
  EXPECT_TRUE(has_mps_rnn(relu, false, false));
}

TEST(RnnChoice, ComposesTheRest) {
  const LstmAttrs new_cell{.output_peephole_reads_new_cell = true};
  EXPECT_TRUE(has_mps_rnn(new_cell, /*has_peephole=*/false, false));
  EXPECT_FALSE(has_mps_rnn(new_cell, /*has_peephole=*/true, false));
  EXPECT_FALSE(has_mps_rnn(LstmAttrs{}, false, /*has_lengths=*/true));
  for (const LstmAttrs& attrs :
       {LstmAttrs{.input_gate_activation = HardSigmoid, .input_gate_a = 0.3f},
        LstmAttrs{.forget_gate_activation = GELU},
        LstmAttrs{.cell_gate_activation = ReLU, .cell_gate_a = 0.1f},
        LstmAttrs{.output_gate_activation = Tanh, .output_gate_a = 2},
        LstmAttrs{.activation = Tanh, .activation_b = 2}}) {
    EXPECT_FALSE(has_mps_rnn(attrs, false, false));
  }
}

TEST(RnnChoice, OfGruAndSingleGate) {
  const GruAttrs all{.reverse = true,
                     .reset_gate_first = true,
                     .reset_after = true,
                     .flip_z = true,
                     .output_gate_activation = None};
  EXPECT_TRUE(has_mps_rnn(GruAttrs{}, false, false));
  EXPECT_TRUE(has_mps_rnn(all, false, false));
  EXPECT_FALSE(has_mps_rnn(GruAttrs{}, false, /*has_lengths=*/true));
  EXPECT_FALSE(
      has_mps_rnn(GruAttrs{.update_gate_activation = GELU}, false, false));
  EXPECT_FALSE(has_mps_rnn(GruAttrs{.output_gate_a = 2}, false, false));
  EXPECT_TRUE(has_mps_rnn(SingleGateAttrs{}, false, false));
  EXPECT_FALSE(has_mps_rnn(SingleGateAttrs{}, false, /*has_lengths=*/true));
  EXPECT_FALSE(
      has_mps_rnn(SingleGateAttrs{.activation_a = 0.1f}, false, false));
}

}  // namespace
}  // namespace traingraph::metal
