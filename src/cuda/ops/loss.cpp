// SPDX-License-Identifier: MIT
// Losses and their gradients: of single elements, over classes (by a thread
// where these are few, by a team where they are many), and cosine distance.
#include "base/checked.h"
#include "cuda/kernel_table.h"
#include "cuda/ops/elementwise.h"
#include "cuda/ops/loss_operands.h"
#include "cuda/ops/reduce_launches.h"

namespace traingraph::cuda {
namespace {

using Places = LossOperands::Places;

/// Of a sample: every block may look through those of all samples.
constexpr std::int64_t kFewNames = 16;

void append(std::vector<Launch>& launches, std::vector<Launch> more) {
  for (Launch& launch : more) launches.push_back(std::move(launch));
}

/// Threads that have the classes of a position together.
int class_threads(const LossOperands& of) {
  return of.has_rows() ? team_threads_of_short(of.classes()) : 1;
}

/// Element losses in scratch, or wherever they are at hand.
int loss_scratch(UnitBuilder& unit, const LossOperands& of) {
  return unit.scratch(static_cast<std::size_t>(
      checked_bytes<float>(product(of.loss_sizes()).value, "scratch")));
}

/// Reduces the weighted losses that `loss` writes to argument `y`.
std::vector<Launch> reduced_losses(
    UnitBuilder& unit, const LossOperands& of, int y,
    const std::vector<Extents>& strides,
    const std::function<std::string(KernelWriter&, const Places&)>& loss) {
  const std::string reducer = of.counts_names() ? "Ratio"
                              : of.is_mean()    ? "Mean"
                                                : "Sum";
  Reduction reduction{
      .headers = {"loss.cuh"},
      .reducer = reducer,
      .total = DataType::Float32,
      .totals = of.counts_names() ? 4 : 2,
      .sizes = of.loss_sizes(),
      .is_reduced = std::vector<bool>(of.sizes().size(), true),
      .strides = strides,
      .is_costly = of.has_classes(),
      .element =
          [&](KernelWriter& kernel, const Places& at, const std::string&) {
            return reducer + "::of(" + loss(kernel, at) +
                   (of.counts_names() ? ", " + of.weight_of_name(kernel, at)
                                      : "") +
                   ")";
          },
      .finish =
          [&](KernelWriter& kernel, const std::string&,
              const std::string& total) {
            kernel.body("    *" + kernel.pointer(y, DataType::Float32) + " = " +
                        reducer + "::finish(" + total + ", " +
                        text_of(kernel, product(of.loss_sizes())) + ") * " +
                        literal(of.attrs().weight) + ";\n");
          }};
  return reduction_launches(unit, reduction);
}

/// Those in scratch `losses`.
std::vector<Launch> reduced_scratch(UnitBuilder& unit, const LossOperands& of,
                                    int y, int losses) {
  std::vector<Extents> strides = of.loss_strides();
  strides.push_back(strides_of(of.loss_sizes()));
  return reduced_losses(unit, of, y, strides,
                        [&](KernelWriter& kernel, const Places& at) {
                          return kernel.pointer(losses, DataType::Float32) +
                                 "[" + at.back() + "]";
                        });
}

std::string weighted_loss(const LossOperands& of, KernelWriter& kernel,
                          const Places& at, int threads) {
  return of.loss(kernel, at, threads) + " * " + of.weight(kernel, at);
}

/// Every loss by itself to argument `y`, times `scale`.
Launch single_losses(const LossOperands& of, int y, float scale) {
  const int threads = of.has_classes() ? class_threads(of) : 1;
  const Walk walk(of.loss_sizes(), of.loss_strides());
  KernelWriter kernel("loss.cuh");
  const std::string team = team_text(threads);
  kernel.body("  " + team + "::each(" + text_of(kernel, walk.count()) +
              ", [&](Index i) {\n");
  const Places at = walk.write_offsets(kernel, "i");
  kernel.body(
      "    const float loss = " + weighted_loss(of, kernel, at, threads) +
      " * " + literal(scale) + ";\n    if (" + team + "::lane() == 0) " +
      kernel.pointer(y, DataType::Float32) + "[i] = loss;\n  });\n");
  return std::move(kernel).launch(team_blocks(walk.count().value, threads),
                                  team_block(threads));
}

/// Cosine distances to argument `y`, weighted and times `scale`.
std::vector<Launch> cosine_losses(UnitBuilder& unit, const LossOperands& of,
                                  int y, float scale) {
  const Walk samples(of.loss_sizes(), of.loss_strides());
  Reduction reduction{
      .headers = {},
      .reducer = "Sum",
      .total = DataType::Float32,
      .totals = 2,
      .sizes = of.sizes(),
      .is_reduced = of.is_summed(),
      .strides = of.strides(),
      .element =
          [&](KernelWriter& kernel, const Places& at, const std::string&) {
            return "Sum::of(" + of.prediction(kernel) + "[" + at[0] + "] * " +
                   of.label(kernel, at) + ")";
          },
      .finish =
          [&](KernelWriter& kernel, const std::string& o,
              const std::string& total) {
            const Places at = samples.write_offsets(kernel, o);
            kernel.body("    " + kernel.pointer(y, DataType::Float32) + "[" +
                        o + "] = (1 - Sum::finish(" + total + ", 1)) * " +
                        of.weight(kernel, at) + " * " + literal(scale) + ";\n");
          }};
  return reduction_launches(unit, reduction);
}

/// What the mean over named classes divides by, in scratch.
int divisor_scratch(UnitBuilder& unit, const LossOperands& of,
                    std::vector<Launch>& launches) {
  const int divisor = unit.scratch(sizeof(float));
  Reduction reduction{
      .headers = {"loss.cuh"},
      .reducer = "Sum",
      .total = DataType::Float32,
      .totals = 2,
      .sizes = of.loss_sizes(),
      .is_reduced = std::vector<bool>(of.sizes().size(), true),
      .strides = of.loss_strides(),
      .element =
          [&](KernelWriter& kernel, const Places& at, const std::string&) {
            return "Sum::of(" + of.weight_of_name(kernel, at) + ")";
          },
      .finish =
          [&](KernelWriter& kernel, const std::string&,
              const std::string& total) {
            kernel.body("    *" + kernel.pointer(divisor, DataType::Float32) +
                        " = Sum::finish(" + total + ", 1);\n");
          }};
  append(launches, reduction_launches(unit, reduction));
  return divisor;
}

/// Writes the same where every block counts the names, which are few.
void write_divisor(const LossOperands& of, KernelWriter& kernel,
                   const Walk& walk, unsigned threads) {
  const std::string block = team_text(static_cast<int>(threads));
  kernel.body("  PreciseSum named = Sum::neutral();\n  for (Index i = " +
              block + "::lane(); i < " + text_of(kernel, walk.count()) +
              "; i += " + block + "::kSize) {\n");
  const Places at = walk.write_offsets(kernel, "i");
  kernel.body("    named = Sum::merge(named, Sum::of(" +
              of.weight_of_name(kernel, at) +
              "));\n  }\n  const float divisor = " + block +
              "::all<Sum>(named).value();\n");
}

/// What the slope of loss i is multiplied with; `divisor`: an expression.
std::string gradient_scale(const LossOperands& of, KernelWriter& kernel,
                           const Places& at, int gradient,
                           const std::string& divisor) {
  const std::string dy = kernel.pointer(gradient, DataType::Float32) +
                         (of.is_reduced() ? "[0]" : "[i]");
  const std::string scale =
      divisor.empty()
          ? of.scale(kernel)
          : "inverse_or_0(" + divisor + ") * " + literal(of.attrs().weight);
  return scale + " * " + dy + " * " + of.weight(kernel, at);
}

std::vector<Launch> class_gradient(UnitBuilder& unit, const LossOperands& of,
                                   int gradient, int dx) {
  const int threads = class_threads(of);
  const Walk walk(of.loss_sizes(), of.loss_strides());
  const bool has_few_names =
      threads == 1 && fixed_part(of.loss_sizes()) <= kFewNames;
  std::vector<Launch> launches;
  KernelWriter kernel("loss.cuh");
  std::string divisor;
  if (of.counts_names() && has_few_names) {
    write_divisor(of, kernel, walk, team_block(threads));
    divisor = "divisor";
  } else if (of.counts_names()) {
    const int sum = divisor_scratch(unit, of, launches);
    divisor = kernel.pointer(sum, DataType::Float32) + "[0]";
  }
  const std::string team = team_text(threads);
  kernel.body("  " + team + "::each(" + text_of(kernel, walk.count()) +
              ", [&](Index i) {\n");
  const Places at = walk.write_offsets(kernel, "i");
  kernel.body(
      "    " + of.formula() + "::slopes<" + team + ">(" +
      of.prediction(kernel) + " + " + at[0] + ", " +
      kernel.pointer(dx, DataType::Float32) + " + " + at[0] + ", " +
      text_of(kernel, of.classes()) + ", " +
      text_of(kernel, of.strides()[0][1]) + ", " + of.class_labels(kernel, at) +
      ", " + gradient_scale(of, kernel, at, gradient, divisor) + ");\n  });\n");
  launches.push_back(std::move(kernel).launch(
      team_blocks(walk.count().value, threads), team_block(threads)));
  return launches;
}

Launch element_gradient(const LossOperands& of, int gradient, int dx) {
  const bool is_cosine = of.attrs().type == LossType::CosineDistance;
  // Losses have an index of their own: that of their sample, of a distance.
  std::vector<Extents> strides = of.strides();
  strides.push_back(strides_of(of.loss_sizes()));
  const Walk walk(of.sizes(), strides);
  KernelWriter kernel("loss.cuh");
  kernel.include("map.cuh");
  const std::string y = kernel.pointer(dx, DataType::Float32);
  kernel.body("  map<4>(" + y + ", " + text_of(kernel, walk.count()) +
              ", [&](Index element) {\n");
  const Places at = walk.write_offsets(kernel, "element");
  kernel.body("    const Index i = " + at.back() +
              ";\n    const float scale = " +
              gradient_scale(of, kernel, at, gradient, {}) + ";\n");
  const std::string label = of.label(kernel, at);
  kernel.body("    return " +
              (is_cosine ? "-scale * " + label
                         : "scale * " + of.formula() + ".slope(" +
                               of.prediction(kernel) + "[" + at[0] + "], " +
                               label + ")") +
              ";\n  });\n");
  return std::move(kernel).launch(map_blocks(walk.count().value, 4),
                                  kMapThreads);
}

}  // namespace

void lower_loss(UnitBuilder& unit) {
  const LossOperands of(unit, /*first=*/0);
  const int y = unit.write(0);
  std::vector<Launch> launches;
  if (of.attrs().type == LossType::CosineDistance) {
    const int losses = of.is_reduced() ? loss_scratch(unit, of) : y;
    append(launches, cosine_losses(unit, of, losses,
                                   of.is_reduced() ? 1 : of.attrs().weight));
    if (of.is_reduced()) {
      append(launches, reduced_scratch(unit, of, y, losses));
    }
  } else if (!of.is_reduced()) {
    launches.push_back(single_losses(of, y, of.attrs().weight));
  } else if (of.has_classes() && class_threads(of) > 1) {
    const int losses = loss_scratch(unit, of);
    launches.push_back(single_losses(of, losses, 1));
    append(launches, reduced_scratch(unit, of, y, losses));
  } else {
    launches = reduced_losses(unit, of, y, of.loss_strides(),
                              [&](KernelWriter& kernel, const Places& at) {
                                return weighted_loss(of, kernel, at, 1);
                              });
  }
  emit(unit, std::move(launches));
}

void lower_loss_gradient(UnitBuilder& unit) {
  const int gradient = unit.read(0);
  const LossOperands of(unit, /*first=*/1);
  const int dx = unit.write(0);
  if (of.has_classes()) {
    return emit(unit, class_gradient(unit, of, gradient, dx));
  }
  emit(unit, {element_gradient(of, gradient, dx)});
}

}  // namespace traingraph::cuda
