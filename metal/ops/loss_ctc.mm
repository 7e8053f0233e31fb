// SPDX-License-Identifier: MIT
// Connectionist temporal classification and its gradient (ctc_loss.h of the
// public headers; states are those of ops/loss_ctc.h), composed. The sums over
// paths are rows of logarithms (N, 1, K), one step after the other: some twenty
// nodes for each step and direction.
#include "ops/loss_ctc.h"

#include <limits>
#include <vector>

#import "metal/ops/layout_moves.h"
#import "metal/ops/matmul_product.h"

namespace traingraph::metal {
namespace {

constexpr int kSteps = 1, kStates = 2;  // axes of (N, T, K)
/// The logarithm of 0, finite so that differences are numbers.
constexpr double kNone = -1e30;

/// NaN passes.
T at_least_none(GraphBuilder& b, T x) { return b.max(x, kNone); }

T is_none(GraphBuilder& b, T x) { return b.less(x, kNone / 2); }

T joined(GraphBuilder& b, std::initializer_list<T> parts, int axis) {
  NSMutableArray<MPSGraphTensor*>* list = [NSMutableArray array];
  for (T part : parts) [list addObject:part];
  return concatenate(b, list, axis);
}

/// ln(e^x + e^y + e^z)
T log_add(GraphBuilder& b, T x, T y, T z) {
  T top = b.max(b.max(x, y), z);
  T sum = b.add(b.add(b.exp(b.sub(x, top)), b.exp(b.sub(y, top))),
                b.exp(b.sub(z, top)));
  return b.add(top, b.log(sum));
}

/// Shapes and what does not change from step to step.
struct Alignment {
  std::int64_t samples, steps, classes, labels, states;
  T scores;  // relative to the largest class, (N, T, C)
  T sums;    // of their exponentials, (N, T, 1)
  T places;  // 0 to K - 1, (1, 1, K)
  T length;  // of labels and steps, (N, 1, 1)
  T step_count;
  T named;              // 1 for the class of a state, (N, C, K)
  T log_probabilities;  // of states, (N, T, K)
  T jumps;   // 0 for states that are jumped to, else kNone, (N, 1, K)
  T is_end;  // the last label and the blank behind it

  Shape of_samples() const { return {samples, 1, 1}; }
  Shape row() const { return {samples, 1, states}; }
  Shape rows() const { return {samples, steps, states}; }
};

T filled(GraphBuilder& b, const Shape& shape, double value) {
  return b.broadcast(b.scalar(value, DataType::Float32), shape);
}

/// 0 to n - 1 along an axis, (1, n, 1) and the like.
T coordinates(GraphBuilder& b, const Shape& shape, int axis) {
  return b.cast([b.graph() coordinateAlongAxis:axis
                                     withShape:ns_shape(shape)
                                          name:b.name()],
                DataType::Float32);
}

/// What labels have (N, S), with `between` in front of each and at the end:
/// (N, 1, K).
T at_states(GraphBuilder& b, const Alignment& a, T of_labels, double between) {
  const Shape pairs{a.samples, a.labels, 1};
  T all = joined(b, {filled(b, pairs, between), b.reshape(of_labels, pairs)},
                 kStates);
  all = b.reshape(all, {a.samples, 1, 2 * a.labels});
  return joined(b, {all, filled(b, a.of_samples(), between)}, kStates);
}

/// Lengths that the host gives, from 0 to `most`; all where it gives none.
T given_length(GraphBuilder& b, const Alignment& a, int input,
               std::int64_t most) {
  const auto all = static_cast<double>(most);
  if (!b.has(input)) return filled(b, a.of_samples(), all);
  T given =
      b.reshape(b.cast(b.input(input), DataType::Float32), a.of_samples());
  return b.min(b.max(given, 0.0), all);
}

/// Up to the padding.
T label_length(GraphBuilder& b, const Alignment& a, T labels, int input) {
  const Shape shape{a.samples, a.labels}, row{1, a.labels};
  const auto all = static_cast<double>(a.labels);
  T ends = b.select(b.equal(labels, static_cast<double>(ctc::kPadding)),
                    coordinates(b, row, 1), all);
  T first = b.reshape(b.minimum(ends, shape, {1}), a.of_samples());
  return b.min(first, given_length(b, a, input, a.labels));
}

/// 0 where a label differs from the one before.
T jumps(GraphBuilder& b, const Alignment& a, T labels) {
  const Shape first{a.samples, 1};
  if (a.labels == 1) return at_states(b, a, filled(b, first, kNone), kNone);
  T before = slice_axis(b, labels, 1, 0, a.labels - 1);
  T behind = slice_axis(b, labels, 1, 1, a.labels - 1);
  T repeats = b.select(b.equal(before, behind), kNone, 0.0, DataType::Float32);
  return at_states(b, a, joined(b, {filled(b, first, kNone), repeats}, 1),
                   kNone);
}

void read_scores(GraphBuilder& b, Alignment& a, int prediction) {
  const Shape shape = b.input_shape(prediction);
  T y = b.input(prediction);
  a.scores = b.sub(y, b.maximum(y, shape, {2}));
  a.sums = b.sum(b.exp(a.scores), shape, {2});
}

/// What classes have (N, T, C) by the state that has the class, or what states
/// have (N, T, K) added up by class.
T product_of_samples(GraphBuilder& b, const Alignment& a, T x, bool by_state) {
  const std::int64_t width = by_state ? a.classes : a.states;
  return product(b,
                 {.tensor = x,
                  .shape = {a.samples, a.steps, width},
                  .is_transposed = false},
                 {.tensor = a.named,
                  .shape = {a.samples, a.classes, a.states},
                  .is_transposed = !by_state},
                 a.samples);
}

/// A label that is no class makes NaN; one that is not within the length does
/// not count.
T log_probabilities(GraphBuilder& b, const Alignment& a, T classes) {
  T of_classes = at_least_none(b, b.sub(a.scores, b.log(a.sums)));
  T of_states = product_of_samples(b, a, of_classes, /*by_state=*/true);
  T is_class = b.both(b.less(classes, static_cast<double>(a.classes)),
                      b.negate(b.less(classes, 0.0)));
  T counts = b.negate(b.greater(a.places, b.mul(a.length, 2.0)));
  of_states =
      b.select(is_class, of_states, std::numeric_limits<double>::quiet_NaN());
  return b.select(counts, of_states, kNone);
}

Alignment read_alignment(GraphBuilder& b, int first) {
  const Shape& prediction = b.input_shape(first + ctc::kPrediction);
  Alignment a;
  a.samples = prediction[0];
  a.steps = prediction[1];
  a.classes = prediction[2];
  a.labels = b.input_shape(first + ctc::kLabels)[1];
  a.states = ctc::num_states(a.labels);
  T labels = b.cast(b.input(first + ctc::kLabels), DataType::Float32);
  read_scores(b, a, first + ctc::kPrediction);
  a.places = coordinates(b, {1, 1, a.states}, kStates);
  a.length = label_length(b, a, labels, first + ctc::kLabelLengths);
  a.step_count = given_length(b, a, first + ctc::kLengths, a.steps);
  T classes = at_states(b, a, labels,
                        static_cast<double>(b.attrs<CtcLossAttrs>().blank));
  a.named = b.select(b.equal(coordinates(b, {1, a.classes, 1}, 1), classes),
                     1.0, 0.0, DataType::Float32);
  a.log_probabilities = log_probabilities(b, a, classes);
  a.jumps = jumps(b, a, labels);
  T end = b.mul(a.length, 2.0);
  a.is_end = b.negate(b.both(b.negate(b.equal(a.places, end)),
                             b.negate(b.equal(a.places, b.add(end, -1.0)))));
  return a;
}

/// The row of one step.
T step(GraphBuilder& b, T rows, std::int64_t t) {
  return slice_axis(b, rows, kSteps, t, 1);
}

/// The row `by` states further on, or further back; no paths come in.
T from_before(GraphBuilder& b, const Alignment& a, T row, std::int64_t by) {
  return joined(b,
                {filled(b, {a.samples, 1, by}, kNone),
                 slice_axis(b, row, kStates, 0, a.states - by)},
                kStates);
}
T from_behind(GraphBuilder& b, const Alignment& a, T row, std::int64_t by) {
  return joined(b,
                {slice_axis(b, row, kStates, by, a.states - by),
                 filled(b, {a.samples, 1, by}, kNone)},
                kStates);
}

/// A row relative to its largest element, so that rounding follows the
/// differences between states and not the number of steps.
struct Relative {
  T row, top;
};

Relative relative(GraphBuilder& b, const Alignment& a, T row) {
  T top = b.maximum(row, a.row(), {kStates});
  top = b.select(is_none(b, top), 0.0, top);
  return {.row = at_least_none(b, b.sub(row, top)), .top = top};
}

/// Paths up to each step, each row relative, and the logarithm of all.
struct Paths {
  std::vector<T> rows;
  T log_sum, is_impossible;  // (N, 1, 1)
};

Paths paths_up_to_steps(GraphBuilder& b, const Alignment& a) {
  Paths paths;
  T row = filled(b, a.row(), kNone), offset = filled(b, a.of_samples(), 0);
  for (std::int64_t t = 0; t < a.steps; ++t) {
    T now = step(b, a.log_probabilities, t), next = nil;
    if (t == 0) {
      next = b.select(b.less(a.places, 2.0), now, kNone);
    } else {
      T jumped = b.add(from_before(b, a, row, 2), a.jumps);
      T sum = log_add(b, row, from_before(b, a, row, 1), jumped);
      next = at_least_none(b, b.add(sum, now));
    }
    const Relative own = relative(b, a, next);
    T runs = b.greater(a.step_count, static_cast<double>(t));
    row = b.select(runs, own.row, row);
    offset = b.add(offset, b.select(runs, own.top, 0.0));
    paths.rows.push_back(row);
  }
  T ends = b.select(a.is_end, row, kNone);
  T top = b.maximum(ends, a.row(), {kStates});
  T sum = b.sum(b.exp(b.sub(ends, top)), a.row(), {kStates});
  T is_empty = b.both(b.equal(a.step_count, 0.0), b.equal(a.length, 0.0));
  T log_sum = b.add(b.add(top, b.log(sum)), offset);
  paths.log_sum = b.select(is_empty, 0.0, log_sum);
  paths.is_impossible = b.both(is_none(b, top), b.negate(is_empty));
  return paths;
}

/// Paths from each step on, by the state there.
std::vector<T> paths_from_steps(GraphBuilder& b, const Alignment& a) {
  T last = b.select(a.is_end, 0.0, kNone, DataType::Float32);
  std::vector<T> rows(static_cast<std::size_t>(a.steps), last);
  for (std::int64_t t = a.steps - 2; t >= 0; --t) {
    T behind = b.add(rows[t + 1], step(b, a.log_probabilities, t + 1));
    T jumped = from_behind(b, a, b.add(behind, a.jumps), 2);
    T sum = log_add(b, behind, from_behind(b, a, behind, 1), jumped);
    T goes_on = b.greater(a.step_count, static_cast<double>(t + 1));
    T row = relative(b, a, at_least_none(b, sum)).row;
    rows[t] = b.select(goes_on, row, last);
  }
  return rows;
}

T stacked(GraphBuilder& b, const std::vector<T>& rows) {
  NSMutableArray<MPSGraphTensor*>* list = [NSMutableArray array];
  for (T row : rows) [list addObject:row];
  return concatenate(b, list, kSteps);
}

/// What a sample's loss is divided by.
T divided(GraphBuilder& b, const Alignment& a, T x) {
  if (!b.attrs<CtcLossAttrs>().divides_by_label_length) return x;
  return b.div(x, b.max(a.length, 1.0));
}

/// The share of paths that have a class at a step, (N, T, C).
T shares_of_classes(GraphBuilder& b, const Alignment& a, const Paths& up_to) {
  T paths = b.add(stacked(b, up_to.rows), stacked(b, paths_from_steps(b, a)));
  T each = b.exp(b.sub(paths, b.maximum(paths, a.rows(), {kStates})));
  T shares = b.div(each, b.sum(each, a.rows(), {kStates}));
  return product_of_samples(b, a, shares, /*by_state=*/false);
}

}  // namespace

void lower_ctc_loss(GraphBuilder& b) {
  const Alignment a = read_alignment(b, 0);
  const Paths paths = paths_up_to_steps(b, a);
  const double otherwise = b.attrs<CtcLossAttrs>().zero_infinity
                               ? 0
                               : std::numeric_limits<double>::infinity();
  T loss = divided(b, a, b.neg(paths.log_sum));
  loss = b.select(paths.is_impossible, otherwise, loss);
  b.set(b.reshape(loss, b.result_shape()));
}

void lower_ctc_loss_gradient(GraphBuilder& b) {
  const Alignment a = read_alignment(b, 1);
  const Paths paths = paths_up_to_steps(b, a);
  T slopes =
      b.sub(b.div(b.exp(a.scores), a.sums), shares_of_classes(b, a, paths));
  T scale = divided(b, a, b.reshape(b.input(0), a.of_samples()));
  const double otherwise = b.attrs<CtcLossAttrs>().zero_infinity
                               ? 0
                               : std::numeric_limits<double>::quiet_NaN();
  slopes = b.select(paths.is_impossible, otherwise, b.mul(slopes, scale));
  T runs = b.less(coordinates(b, {1, a.steps, 1}, kSteps), a.step_count);
  b.set(b.select(runs, slopes, 0.0));
}

}  // namespace traingraph::metal
