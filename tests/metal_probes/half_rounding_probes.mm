// SPDX-License-Identifier: MIT
// Floats of 16 bits: how they are rounded, and whether the recurrent ops take
// them.
#include <limits>

#import "tests/metal_probes/half_lab.h"

namespace traingraph::metal::probes {
namespace {

T converted(Lab& lab, T x, MPSDataType type) {
  return [lab.graph() castTensor:x toType:type name:@"converted"];
}

const float kInfinity = std::numeric_limits<float>::infinity();

std::string cast_rounds(MPSDataType type) {
  const bool is_half = type == kHalf;
  Numbers x{2049, 2051, 65519, 65520, -65520, 0x1p-25F, 0x3p-26F};
  Numbers even{2048, 2052, 65504, kInfinity, -kInfinity, 0, 0x1p-24F};
  Numbers cut{2048, 2050, 65504, 65504, -65504, 0, 0};
  if (!is_half) {
    x = {257, 259, -257, 1.00390625F, 3.4e38F, 0.1F};
    even = {256, 260, -256, 1, kInfinity, 0.10009765625F};
    cut = {256, 258, -256, 1, 0x1.fep127F, 0.099609375F};
  }
  Lab lab;
  // Infinity less infinity is no number: compare as text.
  const std::string got = text(lab.run(converted(lab, lab.input(x), type)));
  if (got == text(even)) return "to even";
  return got == text(cut) ? "towards zero" : "something else: " + got;
}

/// Nothing reads what is between the two casts.
std::string cast_pair(MPSDataType type) {
  Lab lab;
  T narrow = converted(lab, lab.input({2049, 1.001F}), type);
  T wide = converted(lab, narrow, MPSDataTypeFloat32);
  const Numbers got =
      lab.run([lab.graph() multiplicationWithPrimaryTensor:wide
                                           secondaryTensor:lab.constant(1)
                                                      name:@"product"]);
  return got[0] == 2049 ? "is left out" : "rounds";
}

std::string subnormals(MPSDataType type) {
  Lab lab;
  const float small = type == kHalf ? 0x1p-20F : 0x1p-130F;
  const Numbers got = lab.run([lab.graph()
      multiplicationWithPrimaryTensor:lab.input({small, 0x1p-12F}, {2}, type)
                      secondaryTensor:lab.input(
                                          {1, type == kHalf ? 0x1p-6F : 1}, {2},
                                          type)
                                 name:@"product"]);
  const Numbers exact{small, type == kHalf ? 0x1p-18F : 0x1p-12F};
  return text(got) == text(exact) ? "kept" : "flushed to zero";
}

std::string constants(MPSDataType type) {
  Lab lab;
  T one = lab.input({1}, {1}, type);
  const auto constant = [&](double value) {
    return [lab.graph() constantWithScalar:value shape:list({1}) dataType:type];
  };
  const auto product = [&](double value) {
    return [lab.graph() multiplicationWithPrimaryTensor:one
                                        secondaryTensor:constant(value)
                                                   name:@"product"];
  };
  T kept = [lab.graph()
      maximumWithNaNPropagationWithPrimaryTensor:one
                                 secondaryTensor:constant(-kInfinity)
                                            name:@"maximum"];
  const auto got = lab.run_all({product(0.1), product(1e-12), kept});
  const Numbers all{got[0][0], got[1][0], got[2][0]};
  const Numbers expected = type == kHalf
                               ? Numbers{0.0999755859375F, 0, 1}
                               : Numbers{0.10009765625F, 0x1.1ap-40F, 1};
  return text(all) == text(expected) ? "rounded to even"
                                     : "something else: " + text(all);
}

/// Two steps of one unit; "close" to the same in float32.
std::string lstm(MPSDataType type) {
  Numbers last[2];
  for (int turn = 0; turn < 2; ++turn) {
    const MPSDataType own = turn == 0 ? MPSDataTypeFloat32 : type;
    Lab lab;
    const auto descriptor = retain([MPSGraphLSTMDescriptor descriptor]);
    [descriptor.get() setProduceCell:YES];
    [descriptor.get() setTraining:YES];
    NSArray<MPSGraphTensor*>* results = [lab.graph()
        LSTMWithSourceTensor:lab.input({0.5F, -0.25F, 1, 0.75F, 0.125F, 0.5F,
                                        -1, 0.25F},
                                       {2, 1, 4}, own)
             recurrentWeight:lab.input({-0.125F, 0.5F, 0.25F, -0.375F}, {4, 1},
                                       own)
                 inputWeight:nil
                        bias:nil
                   initState:lab.input({0.25F}, {1, 1}, own)
                    initCell:lab.input({-0.5F}, {1, 1}, own)
                        mask:nil
                    peephole:nil
                  descriptor:descriptor.get()
                        name:@"lstm"];
    last[turn] = lab.run([results objectAtIndex:0]);
  }
  const float tolerance = type == kHalf ? 2e-3F : 2e-2F;
  return are_near(last[0], last[1], tolerance)
             ? "close"
             : "far: " + text(last[1]) + " for " + text(last[0]);
}

std::string gru(MPSDataType type) {
  Numbers last[2];
  for (int turn = 0; turn < 2; ++turn) {
    const MPSDataType own = turn == 0 ? MPSDataTypeFloat32 : type;
    Lab lab;
    const auto descriptor = retain([MPSGraphGRUDescriptor descriptor]);
    [descriptor.get() setTraining:YES];
    NSArray<MPSGraphTensor*>* results = [lab.graph()
        GRUWithSourceTensor:lab.input({0.5F, -0.25F, 1, 0.125F, 0.5F, -1},
                                      {2, 1, 3}, own)
            recurrentWeight:lab.input({-0.125F, 0.5F, 0.25F}, {3, 1}, own)
                inputWeight:nil
                       bias:nil
                  initState:lab.input({0.25F}, {1, 1}, own)
                       mask:nil
              secondaryBias:nil
                 descriptor:descriptor.get()
                       name:@"gru"];
    last[turn] = lab.run([results objectAtIndex:0]);
  }
  const float tolerance = type == kHalf ? 2e-3F : 2e-2F;
  return are_near(last[0], last[1], tolerance)
             ? "close"
             : "far: " + text(last[1]) + " for " + text(last[0]);
}

}  // namespace

std::vector<Probe> half_rounding_probes() {
  return {
      {.name = "half_cast",
       .question = "castTensor to float16 rounds",
       .answer = of_half<cast_rounds>,
       .weight = Weight::Reliance,
       .expected = {"to even"},
       .remedy = {.text = "numbers differ from the CPU's in their last bit; "
                          "GraphBuilder::cast has to round first"}},
      {.name = "bfloat_cast",
       .question = "castTensor to bfloat16 rounds",
       .answer = of_bfloat<cast_rounds>,
       .weight = Weight::Reliance,
       .expected = or_none("to even"),
       .remedy = {.text = "numbers differ from the CPU's in their last bit; "
                          "GraphBuilder::cast has to round first"},
       .may_abort = true},
      {.name = "half_cast_pair",
       .question = "a cast to float16 and back inside a graph",
       .answer = of_half<cast_pair>,
       .expected = {"rounds"}},
      {.name = "half_subnormals",
       .question = "subnormal float16 numbers are",
       .answer = of_half<subnormals>,
       .expected = {"kept"}},
      {.name = "bfloat_subnormals",
       .question = "subnormal bfloat16 numbers are",
       .answer = of_bfloat<subnormals>,
       .expected = {"kept"},
       .may_abort = true},
      {.name = "half_constants",
       .question = "scalar constants of float16 are",
       .answer = of_half<constants>,
       .weight = Weight::Reliance,
       .expected = {"rounded to even"},
       .remedy = {.text = "GraphBuilder::scalar has to round them"}},
      {.name = "bfloat_constants",
       .question = "scalar constants of bfloat16 are",
       .answer = of_bfloat<constants>,
       .weight = Weight::Reliance,
       .expected = or_none("rounded to even"),
       .remedy = {.text = "GraphBuilder::scalar has to round them"},
       .may_abort = true},
      {.name = "half_lstm",
       .question = "the LSTM of float16 is to that of float32",
       .answer = of_half<lstm>,
       .expected = {"close"},
       .may_abort = true},
      {.name = "half_gru",
       .question = "the GRU of float16 is to that of float32",
       .answer = of_half<gru>,
       .expected = {"close"},
       .may_abort = true},
  };
}

}  // namespace traingraph::metal::probes
