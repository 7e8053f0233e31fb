// SPDX-License-Identifier: MIT
// Cases of reductions over every set of axes, broadcasting and the norm.
#include "ops/cases.h"

namespace traingraph::testing {
namespace {

Domain domain_of(ReductionType type) {
  switch (type) {
    case ReductionType::Max:
    case ReductionType::Min:
      return distinct();
    case ReductionType::L1Norm:
      return avoiding({0});
    case ReductionType::Any:
    case ReductionType::All:
      return booleans();
    default:
      return uniform();
  }
}

bool is_logical(ReductionType type) {
  return type == ReductionType::Any || type == ReductionType::All;
}

bool gives_index(ReductionType type) {
  return type == ReductionType::ArgMax || type == ReductionType::ArgMin;
}

void add(OpCases& cases, ReductionType type, const Shape& x,
         const Shape& axes) {
  const bool has_gradient = !is_logical(type) && !gives_index(type);
  const bool selects =
      type == ReductionType::Max || type == ReductionType::Min || !has_gradient;
  const DataType data_type =
      is_logical(type) ? DataType::Boolean : DataType::Float32;
  cases.push_back(
      {.op = OpKind::Reduce,
       .attrs = ReduceAttrs{type, axes},
       .inputs = {{x, domain_of(type), data_type}},
       .gradients = has_gradient ? std::vector{0} : std::vector<int>{},
       .tolerance = selects ? 0 : kTolerance,
       .max_differences = 12});
}

Shape axes_of_bits(int bits) {
  Shape axes;
  for (int axis = 0; bits >> axis != 0; ++axis) {
    if ((bits >> axis & 1) != 0) axes.push_back(axis);
  }
  return axes;
}

void add_reductions(OpCases& cases, Random& random) {
  for (int i = 0; i <= static_cast<int>(ReductionType::All); ++i) {
    const auto type = static_cast<ReductionType>(i);
    for (const Shape& x : {Shape{7}, Shape{3, 5}, Shape{2, 1, 5},
                           Shape{3, 2, 1, 4}, Shape{2, 1, 3, 1, 2}}) {
      for (int bits = 0; bits < 1 << x.rank(); ++bits) {
        const Shape axes = axes_of_bits(bits);
        const int count = axes.empty() ? x.rank() : axes.rank();
        if (gives_index(type) && count != 1) continue;
        add(cases, type, x, axes);
      }
    }
    if (gives_index(type)) {
      // Ties: the first one wins.
      cases.push_back({.op = OpKind::Reduce,
                       .attrs = ReduceAttrs{type, {1}},
                       .inputs = {{{4, 9, 3}, integers(-1, 1)}},
                       .tolerance = 0});
      add(cases, type, {5, 67}, {1});
      for (std::int64_t axis : {0, 3, 7}) {
        add(cases, type, {2, 1, 2, 3, 1, 2, 2, 2}, {axis});
      }
      continue;
    }
    add(cases, type, {3, 4, 5}, {2, 0});  // axes in any order
    add(cases, type, {6, 7, 30}, {0, 2});
    // The highest rank, with one, two and four runs of axes.
    for (const Shape& axes : {Shape{0, 1}, Shape{7}, Shape{2, 3, 5},
                              Shape{0, 2, 4, 6}, Shape{1, 3, 5, 7}}) {
      add(cases, type, {2, 1, 2, 3, 1, 2, 2, 2}, axes);
    }
    const int rank = static_cast<int>(pick(random, 2, 5));
    add(cases, type, random_shape(random, rank, 5),
        axes_of_bits(static_cast<int>(pick(random, 1, (1 << rank) - 1))));
    // Long enough for several threads.
    OpCase large{
        .op = OpKind::Reduce,
        .attrs = ReduceAttrs{type, {}},
        .inputs = {{{5, 61, 127},
                    domain_of(type),
                    is_logical(type) ? DataType::Boolean : DataType::Float32}}};
    cases.push_back(large);
    if (type == ReductionType::Sum || type == ReductionType::Max) {
      add(cases, type, {9000, 3}, {0});  // few columns of many rows
    }
  }
  for (DataType type : {DataType::Int32, DataType::Int64, DataType::Boolean}) {
    cases.push_back({.op = OpKind::Reduce,
                     .attrs = ReduceAttrs{ReductionType::None, {}},
                     .inputs = {{{3, 5}, booleans(), type}},
                     .tolerance = 0});
  }
}

void add_broadcasts(OpCases& cases, Random& random) {
  const auto add_broadcast = [&](const Shape& x, const Shape& shape) {
    cases.push_back({.op = OpKind::BroadcastTo,
                     .attrs = ShapeAttrs{shape},
                     .inputs = {{x}},
                     .gradients = {0},
                     .tolerance = 0,
                     .max_differences = 12});
  };
  for (int ones = 0; ones < 16; ++ones) {
    const Shape to{2, 3, 4, 5};
    Shape x = to;
    for (std::int64_t axis : axes_of_bits(ones)) x[static_cast<int>(axis)] = 1;
    add_broadcast(x, to);
  }
  add_broadcast({1}, {7});
  add_broadcast({1}, {2, 3, 5});
  add_broadcast({5}, {3, 5});
  add_broadcast({3, 1}, {2, 3, 4});
  add_broadcast({2, 3, 5}, {2, 3, 5});
  add_broadcast({5, 1, 1}, {2, 5, 3, 3});
  add_broadcast({1, 3, 1, 2}, {4, 3, 5, 2});
  add_broadcast({2, 1, 3, 1, 1}, {2, 4, 3, 2, 5});
  add_broadcast({1, 31, 1}, {5, 31, 257});
  add_broadcast({2, 1, 2, 1, 2, 1, 3}, {2, 2, 3, 2, 2, 2, 1, 3});
  for (int i = 0; i < 8; ++i) {
    const Shape shape = random_shape(random, 1 + i % 5, 5);
    add_broadcast(random_broadcastable(random, shape), shape);
  }
}

}  // namespace

void add_reduce_cases(OpCases& cases, Random& random) {
  add_reductions(cases, random);
  add_broadcasts(cases, random);
  for (const Shape& x : common_shapes()) {
    cases.push_back({.op = OpKind::SquaredNorm,
                     .attrs = NoAttrs{},
                     .inputs = {{x}},
                     .gradients = {0}});
  }
  cases.push_back({.op = OpKind::SquaredNorm,
                   .attrs = NoAttrs{},
                   .inputs = {{{5, 61, 127}}},
                   .gradients = {0},
                   .max_differences = 4});
}

}  // namespace traingraph::testing
