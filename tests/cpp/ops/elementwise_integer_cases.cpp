// SPDX-License-Identifier: MIT
// Cases of what ops of several families make of integers and Booleans, and what
// was added to them later: seeds of the others stay what they are.
#include "ops/cases.h"

namespace traingraph::testing {
namespace {

using Operation = ArithmeticOperation;

void add_arithmetic(OpCases& cases) {
  for (auto operation :
       {Operation::Add, Operation::Subtract, Operation::Multiply,
        Operation::Divide, Operation::Min, Operation::Max}) {
    // The reference knows floats alone: quotients are whole.
    const bool divides = operation == Operation::Divide;
    const Domain left = divides ? values({-60, 0, 90, -30}) : integers(-20, 20);
    const Domain right =
        divides ? values({-3, -2, -1, 1, 2, 5}) : integers(-9, 9);
    for (DataType type : {DataType::Int32, DataType::Int64}) {
      for (const Shape& y : {Shape{4, 11}, Shape{11}, Shape{1}, Shape{4, 1}}) {
        cases.push_back({.op = OpKind::Binary,
                         .attrs = ArithmeticAttrs{operation},
                         .inputs = {{{4, 11}, left, type}, {y, right, type}},
                         .tolerance = 0});
      }
    }
  }
}

/// Of what is no float.
void add_moves(OpCases& cases) {
  for (DataType type : {DataType::Int32, DataType::Int64, DataType::Boolean}) {
    const Domain few = type == DataType::Boolean ? booleans() : integers(-9, 9);
    cases.push_back({.op = OpKind::Select,
                     .attrs = NoAttrs{},
                     .inputs = {{{3, 1}, booleans(), DataType::Boolean},
                                {{3, 5}, few, type},
                                {{5}, few, type}},
                     .tolerance = 0});
    cases.push_back({.op = OpKind::StopGradient,
                     .attrs = NoAttrs{},
                     .inputs = {{{3, 5}, few, type}},
                     .tolerance = 0});
  }
  cases.push_back({.op = OpKind::StopGradient,
                   .attrs = NoAttrs{},
                   .inputs = {{{3, 5}}},
                   .tolerance = 0});
}

void add_reductions(OpCases& cases) {
  for (DataType type : {DataType::Int32, DataType::Int64}) {
    const CaseInput x{{3, 5, 4}, integers(-9, 9), type};
    for (auto reduction : {ReductionType::Sum, ReductionType::Max,
                           ReductionType::Min, ReductionType::L1Norm}) {
      for (const Shape& axes : {Shape{}, Shape{1}, Shape{0, 2}}) {
        cases.push_back({.op = OpKind::Reduce,
                         .attrs = ReduceAttrs{reduction, axes},
                         .inputs = {x},
                         .tolerance = 0});
      }
    }
    for (auto reduction : {ReductionType::ArgMax, ReductionType::ArgMin}) {
      cases.push_back({.op = OpKind::Reduce,
                       .attrs = ReduceAttrs{reduction, {1}},
                       .inputs = {x},
                       .tolerance = 0});
    }
  }
  for (DataType type : {DataType::Int32, DataType::Int64, DataType::Boolean}) {
    cases.push_back({.op = OpKind::BroadcastTo,
                     .attrs = ShapeAttrs{{4, 3, 5}},
                     .inputs = {{{3, 1}, booleans(), type}},
                     .tolerance = 0});
  }
}

CaseInput positions(const Shape& shape, DataType type) {
  return {.shape = shape, .domain = integers(0, 6), .data_type = type};
}

void add_gathers(OpCases& cases) {
  for (DataType type : {DataType::Int32, DataType::Int64, DataType::Boolean}) {
    const CaseInput source{{3, 7}, booleans(), type};
    const CaseInput indices = positions({4}, DataType::Int32);
    const CaseInput elements = positions({3, 4}, DataType::Int64);
    for (const CaseInput& at : {indices, elements}) {
      cases.push_back({.op = OpKind::Gather,
                       .attrs = AxisAttrs{1},
                       .inputs = {source, at},
                       .tolerance = 0});
      for (auto reduction : {ReductionType::None, ReductionType::Sum}) {
        const bool adds = reduction == ReductionType::Sum;
        if (adds && type == DataType::Boolean) continue;
        cases.push_back({.op = OpKind::Scatter,
                         .attrs = ScatterAttrs{1, reduction},
                         .inputs = {{{3, 4}, booleans(), type}, at, source},
                         .tolerance = 0});
      }
    }
  }
}

void add_erf(OpCases& cases) {
  for (const Shape& shape : {Shape{7}, Shape{2, 3, 11}}) {
    cases.push_back({.op = OpKind::Unary,
                     .attrs = ArithmeticAttrs{Operation::Erf},
                     .inputs = {{shape, uniform(-4, 4)}},
                     .gradients = {0}});
  }
}

}  // namespace

void add_integer_cases(OpCases& cases, Random&) {
  add_arithmetic(cases);
  add_moves(cases);
  add_reductions(cases);
  add_gathers(cases);
  add_erf(cases);
}

}  // namespace traingraph::testing
