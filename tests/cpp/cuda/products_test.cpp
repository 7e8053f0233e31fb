// SPDX-License-Identifier: MIT
// Matrix products of the CUDA device: large ones by cuBLASLt, whose place the
// emulated one takes, and kernels that serve all batch sizes.
#include <cmath>
#include <random>

#include "cuda/cuda_context.h"
#include "cuda/cuda_target.h"
#include "cuda/emulated_card.h"
#include "support/run_program.h"
#include "support/training.h"
#include "traingraph/half_types.h"

namespace traingraph::cuda::test {
namespace {

using testing::ProgramRun;

std::shared_ptr<DeviceContext> card() {
  use_emulated_card();
  static const std::shared_ptr<DeviceContext> card = make_context(0);
  return card;
}

long num_library_products() {
  card();
  return emulator_function<long(const char*)>("cuda_emulator_num_calls")(
      "cuGraphAddChildGraphNode");
}

/// Multiples of 1/16, which all types hold.
std::vector<float> random_values(std::int64_t count) {
  static std::mt19937 random(5);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    value = static_cast<float>(static_cast<int>(random() % 31) - 15) / 16;
  }
  return values;
}

void set(ProgramRun& run, ValueId id, DataType type,
         const std::vector<float>& values) {
  if (type == DataType::Float32) return run.set(id, values);
  run.set(id, std::vector<bfloat16>(values.begin(), values.end()));
}

enum class After { Nothing, Relu, Tanh, Chain, Cast };

struct Case {
  Shape x, y;
  MatMulAttrs attrs = {};
  DataType type = DataType::Float32;
  bool has_bias = false;
  After after = After::Nothing;
};

/// Matrices of one batch axis, or none.
struct Sizes {
  explicit Sizes(const Case& c)
      : batches(c.x.rank() == 3 ? c.x[0] : 1),
        rows(c.x[c.x.rank() - (c.attrs.transposes_x ? 1 : 2)]),
        depth(c.x[c.x.rank() - (c.attrs.transposes_x ? 2 : 1)]),
        columns(c.y[c.y.rank() - (c.attrs.transposes_y ? 2 : 1)]) {}
  std::int64_t batches, rows, depth, columns;
};

/// Runs it, and compares some elements with sums in double precision.
void check(const Case& c) {
  const Sizes n(c);
  Program program;
  const auto input = [&](const Shape& shape) {
    return program.add_value(Role::Input, {shape, c.type}, "input");
  };
  const ValueId x = input(c.x), y = input(c.y);
  std::vector<ValueId> inputs{x, y};
  if (c.has_bias) inputs.push_back(input({n.columns}));
  ValueId z =
      program.append(OpKind::MatMul, c.attrs, inputs, "product").front();
  const auto append = [&](OpKind op, const Attributes& attrs,
                          const std::vector<ValueId>& of) {
    z = program.append(op, attrs, of, "after").front();
  };
  ValueId other = kNoValue;
  if (c.after == After::Relu || c.after == After::Tanh) {
    const bool is_relu = c.after == After::Relu;
    const float factor = is_relu ? 0 : 1;
    append(
        OpKind::Activation,
        ActivationAttrs{is_relu ? ActivationType::ReLU : ActivationType::Tanh,
                        factor, factor},
        {z});
  } else if (c.after == After::Chain) {
    other = input({n.columns});
    append(OpKind::Binary, ArithmeticAttrs{ArithmeticOperation::Multiply},
           {z, other});
    append(OpKind::Unary, ArithmeticAttrs{ArithmeticOperation::Sin}, {z});
  } else if (c.after == After::Cast) {
    append(OpKind::Cast, CastAttrs{DataType::Float32}, {z});
  }
  ProgramRun run(program, {z}, card());
  const auto x_values = random_values(c.x.num_elements());
  const auto y_values = random_values(c.y.num_elements());
  const auto bias = random_values(n.columns), scale = random_values(n.columns);
  set(run, x, c.type, x_values);
  set(run, y, c.type, y_values);
  if (c.has_bias) set(run, inputs[2], c.type, bias);
  if (other != kNoValue) set(run, other, c.type, scale);
  run.run();
  EXPECT_EQ(run.lowered().units.size(), 1u);
  EXPECT_TRUE(run.has_intact_guards());

  std::vector<float> got;
  const bool is_exact = program.desc(z).data_type == DataType::Float32;
  if (is_exact) {
    got = run.get<float>(z);
  } else {
    for (const bfloat16 each : run.get<bfloat16>(z)) got.push_back(each);
  }
  std::mt19937 random(6);
  for (int i = 0; i < 2000; ++i) {
    const auto element =
        static_cast<std::int64_t>(random()) % (n.batches * n.rows * n.columns);
    const std::int64_t column = element % n.columns,
                       row = element / n.columns % n.rows,
                       batch = element / n.columns / n.rows;
    const float* const of_x = &x_values[batch * n.rows * n.depth];
    const float* const of_y =
        &y_values[c.y.rank() == 3 ? batch * n.columns * n.depth : 0];
    double sum = 0;
    for (std::int64_t d = 0; d < n.depth; ++d) {
      sum +=
          static_cast<double>(of_x[c.attrs.transposes_x ? d * n.rows + row
                                                        : row * n.depth + d]) *
          static_cast<double>(
              of_y[c.attrs.transposes_y ? column * n.depth + d
                                        : d * n.columns + column]);
    }
    sum *= static_cast<double>(c.attrs.alpha);
    if (c.has_bias) sum += static_cast<double>(bias[column]);
    if (c.after == After::Relu) sum = std::max(sum, 0.0);
    if (c.after == After::Tanh) sum = std::tanh(sum);
    if (c.after == After::Chain) {
      sum = std::sin(sum * static_cast<double>(scale[column]));
    }
    // A result of bfloat16 has 8 bits, and sin() moves as much as its argument.
    const double magnitude = std::max(1.0, std::fabs(sum));
    const double tolerance = is_exact ? 2e-5 * magnitude : magnitude / 256;
    ASSERT_NEAR(static_cast<double>(got[element]), sum, tolerance)
        << row << ", " << column << " of matrix " << batch;
  }
}

TEST(LargeProducts, AreTheLibrarysInAllOrientations) {
  for (int bits = 0; bits < 4; ++bits) {
    const bool swaps_x = (bits & 1) != 0, swaps_y = (bits & 2) != 0;
    const long before = num_library_products();
    check({.x = swaps_x ? Shape{260, 256} : Shape{256, 260},
           .y = swaps_y ? Shape{264, 260} : Shape{260, 264},
           .attrs = {0.5f, swaps_x, swaps_y},
           .has_bias = true});
    EXPECT_EQ(num_library_products(), before + 1);
  }
}

TEST(LargeProducts, AreFollowedByWhatIsJoined) {
  for (const After after : {After::Relu, After::Tanh, After::Chain}) {
    for (const bool has_bias : {false, true}) {
      check({.x = {256, 260},
             .y = {260, 264},
             .has_bias = has_bias,
             .after = after});
    }
  }
}

TEST(LargeProducts, OfHalfFloatsMayGiveFloat32) {
  for (const After after : {After::Nothing, After::Relu, After::Cast}) {
    check({.x = {260, 256},
           .y = {260, 264},
           .attrs = {1, true, false},
           .type = DataType::BFloat16,
           .has_bias = true,
           .after = after});
  }
}

TEST(LargeProducts, HaveBatches) {
  check({.x = {3, 256, 128}, .y = {3, 256, 128}, .attrs = {1, false, true}});
  check({.x = {3, 128, 256},
         .y = {128, 256},
         .attrs = {1, true, false},
         .has_bias = true});
}

TEST(SmallProducts, AreOurs) {
  const long before = num_library_products();
  check({.x = {64, 260},
         .y = {260, 264},
         .has_bias = true,
         .after = After::Relu});
  check({.x = {3, 20, 28},
         .y = {3, 12, 28},
         .attrs = {1, false, true},
         .type = DataType::BFloat16,
         .after = After::Cast});
  // Blocks share the depth.
  check({.x = {4096, 10}, .y = {4096, 12}, .attrs = {2, true, false}});
  EXPECT_EQ(num_library_products(), before);
}

/// Of a product of this batch size, without a card.
std::vector<std::string> texts(std::int64_t batch, bool is_gradient) {
  const auto make = [&](std::int64_t size) {
    Program program;
    const ValueId x =
        program.add_value(Role::Input, {{size, 784}, DataType::Float32}, "x");
    const ValueId y = program.add_value(
        is_gradient ? Role::Input : Role::Variable,
        {is_gradient ? Shape{size, 256} : Shape{784, 256}, DataType::Float32},
        "y");
    program.append(OpKind::MatMul, MatMulAttrs{1, is_gradient, false}, {x, y},
                   "product");
    return program;
  };
  const CardLimits limits{.capability = 90, .num_multiprocessors = 132};
  const Program program = make(batch), other = make(batch + 1);
  LowerOptions options;
  options.kept = {program.node(0).outputs[0]};
  options.batch_extents = find_batch_extents(program, other);
  const LoweredProgram lowered =
      CudaTarget(limits, nullptr).lower(program, options);
  std::vector<std::string> texts;
  for (const Unit& unit : lowered.units) {
    for (const CodeStep& step :
         static_cast<const CudaCode&>(*unit.code).steps) {
      texts.push_back(std::get<Launch>(step).text.definition);
    }
  }
  return texts;
}

TEST(SmallProducts, HaveOneTextForAllBatchSizes) {
  for (const bool is_gradient : {false, true}) {
    for (const std::int64_t batch : {1, 3, 17, 64, 200}) {
      EXPECT_EQ(texts(batch, is_gradient), texts(32, is_gradient)) << batch;
    }
  }
}

/// A training step, with its loss and updates. (A batch of one sample has a
/// kernel of its own.)
TEST(CudaBatchSizes, LoadNoKernelsBeyondTheFirst) {
  testing::Linear net(40, 33, 10);
  TrainingGraph t =
      net.train(std::make_shared<optimizers::Adam>(), {}, Device(card()));
  const auto num_modules =
      emulator_function<long(const char*)>("cuda_emulator_num_calls");
  const auto step = [&](std::int64_t batch) {
    t.execute(net.inputs, net.labels, {}, {.batch_size = batch}).wait();
  };
  step(0);
  const long after_first = num_modules("cuModuleLoadData");
  EXPECT_GT(after_first, 0);
  for (const std::int64_t batch : {39, 17, 2}) {
    step(batch);
    EXPECT_EQ(num_modules("cuModuleLoadData"), after_first) << batch;
  }
}

}  // namespace
}  // namespace traingraph::cuda::test
