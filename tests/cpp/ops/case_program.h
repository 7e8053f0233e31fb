// SPDX-License-Identifier: MIT
// A case as a program with contents: what the tests build from the table.
#pragma once

#include <vector>

#include "ops/cases.h"
#include "support/run_program.h"

namespace traingraph::testing {

struct CaseProgram {
  Program program;
  std::vector<ValueId> inputs;   // kNoValue: absent
  std::vector<ValueId> results;  // of the op, opaque ones too
  NodeId node = -1;              // the op
  RefTensors contents;           // per input
};

CaseProgram build(const OpCase& op_case);

/// The results that tests can read.
std::vector<ValueId> plain_results(const CaseProgram& built);
/// Variables that the op writes.
std::vector<ValueId> written_variables(const CaseProgram& built);

/// Contents as doubles, whatever the data type.
void set_tensor(ProgramRun& run, const Program& program, ValueId value,
                const RefTensor& contents);
RefTensor get_tensor(const ProgramRun& run, const Program& program,
                     ValueId value);
/// Sets every input of the case.
void set_inputs(ProgramRun& run, const CaseProgram& built);

/// Random values that float32 holds exactly.
RefTensor random_seed(const Shape& shape, Random& random);

/// |got - expected| <= tolerance * max(1, |expected|); the same infinities.
void expect_close(const RefTensor& got, const RefTensor& expected,
                  double tolerance);

}  // namespace traingraph::testing
