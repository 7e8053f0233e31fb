// SPDX-License-Identifier: MIT
// Connectionist temporal classification and its gradient (ctc_loss.h of the
// public headers; states are those of ops/loss_ctc.h).
//
// The sums over paths up to a step, and from a step on, are rows of logarithms,
// one per state, in float32. Each row is kept relative to its largest element:
// rounding then follows the differences between states, not the number of
// steps. What the rows were relative to adds up to the loss in double, and the
// gradient needs their ratios alone.
#include "ops/loss_ctc.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/lowering.h"
#include "cpu/ops/gather_indices.h"
#include "cpu/parallel.h"
#include "cpu/typed_address.h"
#include "cpu/vector_math.h"
#include "formulas/ctc.h"

namespace traingraph::cpu {
namespace {

using namespace formulas::ctc;

/// Makes `row` relative to its largest element, which it returns, or a NaN.
float normalize(float* row, std::int64_t count) {
  float top = row[0], zero = 0;
#pragma omp simd reduction(max : top) reduction(+ : zero)
  for (std::int64_t s = 0; s < count; ++s) {
    top = row[s] > top ? row[s] : top;
    zero += row[s] * 0;
  }
  if (zero != 0) return std::numeric_limits<float>::quiet_NaN();
  if (is_none(top)) return none();
#pragma omp simd
  for (std::int64_t s = 0; s < count; ++s) {
    row[s] = at_least_none(row[s] - top);
  }
  return top;
}

/// What a step's scores are turned into probabilities with.
struct Scores {
  const float* y;
  float largest;
  double sum;  // of exponentials, relative to the largest
  float log_sum;

  Scores(const float* y, std::int64_t classes) : y(y) {
    float top = y[0];
#pragma omp simd reduction(max : top)
    for (std::int64_t c = 1; c < classes; ++c) top = y[c] > top ? y[c] : top;
    double exponentials = 0;
#pragma omp simd reduction(+ : exponentials)
    for (std::int64_t c = 0; c < classes; ++c) {
      exponentials += fast_exp(y[c] - top);
    }
    largest = top;
    sum = exponentials;
    log_sum = static_cast<float>(std::log(sum));
  }
  float log_probability(std::int64_t c) const {
    return at_least_none(y[c] - largest - log_sum);
  }
};

/// Scratch of one sample: rows of a float per state, `stride` floats apart.
struct Rows {
  /// Rows that jumps reach over: two elements in front of those of paths up to
  /// a step, two behind the others, are no paths.
  static constexpr std::int64_t kPads = 2;

  float* first;
  std::int64_t stride, kept;  // of the rows of paths up to a step

  static std::int64_t stride_of(std::int64_t labels) {
    return ctc::num_states(labels) + kPads;
  }
  static std::int64_t count(std::int64_t kept) { return kept + 3; }

  float* up_to(std::int64_t t) const {
    return first + t % kept * stride + kPads;
  }
  float* from() const { return first + kept * stride; }
  /// 0 for states that are jumped to, else none().
  float* jumps() const { return first + (kept + 1) * stride; }
  /// Logarithms of the states' probabilities at a step; then what paths have
  /// which state.
  float* states() const { return first + (kept + 2) * stride; }
};

/// One sample: what is within its lengths.
template <class Label>
struct Sequence {
  const float* y;
  const Label* labels;
  std::int64_t steps, length, classes, blank;
  Rows rows;

  std::int64_t states() const { return ctc::num_states(length); }
  Scores scores(std::int64_t t) const { return {y + t * classes, classes}; }

  /// Of labels that differ from the one before.
  void find_jumps() const {
    std::fill(rows.jumps(), rows.jumps() + states() + Rows::kPads, none());
    for (std::int64_t i = 1; i < length; ++i) {
      if (labels[i] != labels[i - 1]) rows.jumps()[2 * i + 1] = 0;
    }
  }

  const float* log_probabilities(const Scores& now) const {
    float* row = rows.states();
    const float of_blank = now.log_probability(blank);
    for (std::int64_t i = 0; i < length; ++i) {
      row[2 * i] = of_blank;
      row[2 * i + 1] = now.log_probability(labels[i]);
    }
    row[2 * length] = of_blank;
    return row;
  }

  /// Fills the rows of paths up to each step. The logarithm of all paths;
  /// none(): there are none; NaN, without all rows: a score is no number.
  double up_to_steps() const {
    find_jumps();
    const float* jumps = rows.jumps();
    double offset = 0;
    for (std::int64_t t = 0; t < steps; ++t) {
      float* row = rows.up_to(t);
      const float* now = log_probabilities(scores(t));
      std::fill(row - Rows::kPads, row, none());
      if (t == 0) {
        std::fill(row, row + states(), none());
        std::copy(now, now + std::min<std::int64_t>(2, states()), row);
      } else {
        const float* before = rows.up_to(t - 1);
#pragma omp simd
        for (std::int64_t s = 0; s < states(); ++s) {
          row[s] = one_step(before[s], before[s - 1], before[s - 2], jumps[s],
                            now[s]);
        }
      }
      const float top = normalize(row, states());
      if (is_none(top)) return none();
      if (std::isnan(top)) return top;
      offset += top;
    }
    if (steps == 0) return length == 0 ? 0 : none();
    const float* last = rows.up_to(steps - 1);
    const float sum = log_add(last[states() - 1], last[states() - 2]);
    return is_none(sum) ? none() : offset + sum;
  }

  /// Of the last step: paths end at the last label or the last blank.
  void begin_backwards() const {
    float* row = rows.from();
    std::fill(row, row + states() + Rows::kPads, none());
    row[states() - 1] = 0;
    if (length > 0) row[states() - 2] = 0;
  }

  /// The row of paths from a step on, by the state there, from that of the
  /// step behind.
  void step_back(const Scores& next) const {
    float* row = rows.from();
    const float* jumps = rows.jumps();
    const float* now = log_probabilities(next);
#pragma omp simd
    for (std::int64_t s = 0; s < states(); ++s) row[s] += now[s];
#pragma omp simd
    for (std::int64_t s = 0; s < states(); ++s) {
      row[s] = at_least_none(
          log_add(log_add(row[s], row[s + 1]), row[s + 2] + jumps[s + 2]));
    }
    normalize(row, states());
  }

  /// scale * (softmax(y) - the share of paths that have the class at step t)
  void slopes(float scale, std::int64_t t, float* dx) const {
    const float *up_to = rows.up_to(t), *from = rows.from();
    float top = none();
#pragma omp simd reduction(max : top)
    for (std::int64_t s = 0; s < states(); ++s) {
      const float each = up_to[s] + from[s];
      top = each > top ? each : top;
    }
    float* paths = rows.states();
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t s = 0; s < states(); ++s) {
      paths[s] = fast_exp(up_to[s] + from[s] - top);
      sum += paths[s];
    }
    const Scores now = scores(t);
    const auto share = static_cast<float>(scale / sum);
    const auto whole = static_cast<float>(scale / now.sum);
#pragma omp simd
    for (std::int64_t c = 0; c < classes; ++c) {
      dx[c] = whole * fast_exp(now.y[c] - now.largest);
    }
    for (std::int64_t i = 0; i < length; ++i) {
      dx[blank] -= share * paths[2 * i];
      dx[labels[i]] -= share * paths[2 * i + 1];
    }
    dx[blank] -= share * paths[2 * length];
  }
};

template <class Label>
struct CtcLoss {
  static constexpr std::int64_t kKept = 2;  // rows of the forward: now, before

  CtcLossAttrs attrs;
  std::int64_t samples, steps, classes, num_labels;
  const float* prediction = nullptr;
  const Label* labels = nullptr;
  const std::int32_t* lengths = nullptr;        // null: all steps
  const std::int32_t* label_lengths = nullptr;  // null: up to the padding
  float* scratch = nullptr;                     // Rows of each sample
  float* result = nullptr;                      // of the forward
  const float* gradient = nullptr;              // of the gradient
  float* dx = nullptr;

  static std::int64_t within(const std::int32_t* lengths, std::int64_t n,
                             std::int64_t most) {
    return lengths ? std::clamp<std::int64_t>(lengths[n], 0, most) : most;
  }

  /// Up to the length, or the padding.
  std::int64_t num_labels_of(std::int64_t n) const {
    const Label* own = labels + n * num_labels;
    const std::int64_t most = within(label_lengths, n, num_labels);
    return std::find(own, own + most, Label{ctc::kPadding}) - own;
  }

  Sequence<Label> sequence(std::int64_t n, std::int64_t kept) const {
    const std::int64_t stride = Rows::stride_of(num_labels);
    return {.y = prediction + n * steps * classes,
            .labels = labels + n * num_labels,
            .steps = within(lengths, n, steps),
            .length = num_labels_of(n),
            .classes = classes,
            .blank = attrs.blank,
            .rows = {scratch + n * Rows::count(kept) * stride, stride, kept}};
  }

  void require_labels(const IndexCheck& check) const {
    for (std::int64_t n = 0; n < samples; ++n) {
      check.require(labels, n * num_labels, num_labels_of(n));
    }
  }

  float share_of(const Sequence<Label>& sequence) const {
    if (!attrs.divides_by_label_length) return 1;
    return 1 / static_cast<float>(std::max<std::int64_t>(sequence.length, 1));
  }

  void loss(std::int64_t n) const {
    const Sequence<Label> own = sequence(n, kKept);
    const double sum = own.up_to_steps();
    if (sum != none()) {
      result[n] = static_cast<float>(0 - sum) * share_of(own);
    } else {
      result[n] =
          attrs.zero_infinity ? 0 : std::numeric_limits<float>::infinity();
    }
  }

  void slopes(std::int64_t n) const {
    const Sequence<Label> own = sequence(n, steps);
    float* d = dx + n * steps * classes;
    float* end = d + own.steps * classes;
    std::fill(end, d + steps * classes, 0.0f);
    const double sum = own.up_to_steps();
    const bool is_impossible = sum == none();
    if (is_impossible || std::isnan(sum)) {
      const float each = std::numeric_limits<float>::quiet_NaN();
      const bool is_ignored = is_impossible && attrs.zero_infinity;
      return std::fill(d, end, is_ignored ? 0 : each);
    }
    own.begin_backwards();
    const float scale = gradient[n] * share_of(own);
    for (std::int64_t t = own.steps - 1; t >= 0; --t) {
      if (t + 1 < own.steps) own.step_back(own.scores(t + 1));
      own.slopes(scale, t, d + t * classes);
    }
  }

  /// A sample is the work of one thread.
  template <class Visit>
  void for_each_sample(Visit&& visit) const {
    parallel_for(
        samples, /*grain=*/1,
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t n = begin; n < end; ++n) visit(n);
        },
        /*multiple=*/1);
  }
};

/// The arguments of a unit; -1: absent.
struct Arguments {
  int prediction, labels, lengths, label_lengths, scratch;
};

template <class Label>
CtcLoss<Label> plan_of(const UnitBuilder& unit, int first) {
  const Shape& prediction = unit.input_shape(first + ctc::kPrediction);
  return {.attrs = unit.attrs<CtcLossAttrs>(),
          .samples = prediction[0],
          .steps = prediction[1],
          .classes = prediction[2],
          .num_labels = unit.input_shape(first + ctc::kLabels)[1]};
}

Arguments read(UnitBuilder& unit, int first, std::int64_t kept) {
  const auto optional = [&](int input) {
    return unit.has(first + input) ? unit.read(first + input) : -1;
  };
  const TensorDescriptor& desc = unit.input_desc(first);
  if (desc.data_type != DataType::Float32) fail_type(unit, desc.data_type);
  const std::int64_t labels = unit.input_shape(first + ctc::kLabels)[1];
  const auto num_floats = static_cast<std::size_t>(
      desc.shape[0] * Rows::count(kept) * Rows::stride_of(labels));
  return {.prediction = unit.read(first + ctc::kPrediction),
          .labels = unit.read(first + ctc::kLabels),
          .lengths = optional(ctc::kLengths),
          .label_lengths = optional(ctc::kLabelLengths),
          .scratch = unit.scratch(num_floats * sizeof(float))};
}

template <class Label>
CtcLoss<Label> bound(CtcLoss<Label> plan, const Arguments& args,
                     BindContext& at) {
  const auto lengths = [&](int arg) {
    return arg < 0 ? nullptr : typed<std::int32_t>(at[arg]);
  };
  plan.prediction = floats(at[args.prediction]);
  plan.labels = typed<Label>(at[args.labels]);
  plan.lengths = lengths(args.lengths);
  plan.label_lengths = lengths(args.label_lengths);
  plan.scratch = floats(at[args.scratch]);
  return plan;
}

}  // namespace

void lower_ctc_loss(UnitBuilder& unit) {
  const Arguments args = read(unit, 0, CtcLoss<std::int32_t>::kKept);
  const int result = unit.write(0);
  const IndexCheck check(unit, ctc::kLabels, unit.input_shape(0)[2]);
  visit_index_type(unit, ctc::kLabels, [&]<class Label>(Label) {
    const auto plan = plan_of<Label>(unit, 0);
    emit(unit, [=](BindContext& at) -> BoundKernel {
      CtcLoss<Label> loss = bound(plan, args, at);
      loss.result = floats(at[result]);
      return [loss, check] {
        loss.require_labels(check);
        loss.for_each_sample([&](std::int64_t n) { loss.loss(n); });
      };
    });
  });
}

void lower_ctc_loss_gradient(UnitBuilder& unit) {
  const int gradient = unit.read(0);
  const Arguments args = read(unit, 1, unit.input_shape(1)[1]);
  const int dx = unit.write(0);
  const IndexCheck check(unit, 1 + ctc::kLabels, unit.input_shape(1)[2]);
  visit_index_type(unit, 1 + ctc::kLabels, [&]<class Label>(Label) {
    const auto plan = plan_of<Label>(unit, 1);
    emit(unit, [=](BindContext& at) -> BoundKernel {
      CtcLoss<Label> loss = bound(plan, args, at);
      loss.gradient = floats(at[gradient]);
      loss.dx = floats(at[dx]);
      return [loss, check] {
        loss.require_labels(check);
        loss.for_each_sample([&](std::int64_t n) { loss.slopes(n); });
      };
    });
  });
}

}  // namespace traingraph::cpu
