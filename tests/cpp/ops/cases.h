// SPDX-License-Identifier: MIT
// The table of op cases: for every op, attributes and inputs worth running.
// Each case runs on each device against the float64 reference, forward and
// gradient. How inputs are filled is a domain: random, one-hot, away from
// kinks. Every number follows from one seed.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "graph/program.h"
#include "support/reference.h"
#include "traingraph/op_attrs.h"

namespace traingraph::testing {

using Random = std::mt19937_64;

/// Fills one input; sees the inputs before it.
using Domain =
    std::function<RefTensor(const Shape&, const RefTensors& earlier, Random&)>;

Domain uniform(double low = -1, double high = 1);
/// Uniform, but nowhere near one of `kinks`.
Domain avoiding(std::vector<double> kinks, double low = -1, double high = 1);
/// All elements differ by more than any step of a central difference.
Domain distinct(double low = -1, double high = 1);
/// Whole numbers, so ties are common.
Domain integers(int low, int high);
Domain booleans();
/// One 1 along axis 1.
Domain one_hot();
/// Sums to 1 along axis 1.
Domain distribution();
/// These values again and again.
Domain values(std::vector<double> elements);
/// Whatever f gives for the inputs before.
Domain derived(std::function<RefTensor(const RefTensors& earlier)> f);

struct CaseInput {
  Shape shape = {};  // no axes: an absent optional input
  Domain domain = uniform();
  DataType data_type = DataType::Float32;
  /// The state of the op's forward op, run on input 1 (max pooling).
  bool is_state = false;

  /// Domains apart.
  bool operator==(const CaseInput& other) const {
    return shape == other.shape && data_type == other.data_type &&
           is_state == other.is_state;
  }
};

inline CaseInput absent() { return {}; }

/// float32 with sums of up to a hundred terms.
inline constexpr double kTolerance = 5e-6;
/// Rounding errors of longer sums grow with the root of their length.
double sum_tolerance(std::int64_t num_terms);
inline constexpr const char* kLongSum = "a sum of many terms in float32";

struct OpCase {
  OpKind op = OpKind::Activation;
  Attributes attrs = {};
  std::vector<CaseInput> inputs = {};
  /// Inputs whose gradient is checked.
  std::vector<int> gradients = {};
  /// |got - expected| <= tolerance * max(1, |expected|); 0: exact.
  double tolerance = kTolerance;
  double gradient_tolerance = 4 * kTolerance;
  /// Why a tolerance is looser than the default one.
  const char* reason = "";
  /// Elements of each input that central differences are taken of.
  int max_differences = 24;
  std::uint64_t seed = 0;
};

/// "convolution_2d {strides=(1, 1), ...} (2, 3, 5, 5) (4, 3, 3, 3) seed 17"
std::string describe(const OpCase& op_case);

/// The case with every float32 that may be of this type stored as it: what the
/// schema of the op lets be, and what a cast or a fill makes.
OpCase stored_as(OpCase op_case, DataType type);

using OpCases = std::vector<OpCase>;

// One function per family file; `random` draws the random shapes.
void add_elementwise_cases(OpCases& cases, Random& random);
void add_matmul_cases(OpCases& cases, Random& random);
void add_conv_cases(OpCases& cases, Random& random);
void add_pool_cases(OpCases& cases, Random& random);
void add_norm_cases(OpCases& cases, Random& random);
void add_sample_norm_cases(OpCases& cases, Random& random);
void add_reduce_cases(OpCases& cases, Random& random);
void add_rnn_cases(OpCases& cases, Random& random);
void add_gru_cases(OpCases& cases, Random& random);
void add_single_gate_cases(OpCases& cases, Random& random);
void add_norm_part_cases(OpCases& cases, Random& random);
void add_layout_cases(OpCases& cases, Random& random);
void add_upsample_cases(OpCases& cases, Random& random);
void add_gather_cases(OpCases& cases, Random& random);
void add_loss_cases(OpCases& cases, Random& random);
void add_loss_label_cases(OpCases& cases, Random& random);
void add_yolo_loss_cases(OpCases& cases, Random& random);
void add_attention_cases(OpCases& cases, Random& random);
void add_ctc_loss_cases(OpCases& cases, Random& random);
void add_update_cases(OpCases& cases, Random& random);
void add_integer_cases(OpCases& cases, Random& random);
void add_cumulative_sum_cases(OpCases& cases, Random& random);

/// All of them. The seed is TRAINGRAPH_TEST_SEED when that is set.
const OpCases& op_cases();
std::uint64_t cases_seed();

// For the family files.
std::int64_t pick(Random& random, std::int64_t low, std::int64_t high);
Shape random_shape(Random& random, int rank, std::int64_t largest);
/// `shape` with some axes set to 1 and some leading ones dropped.
Shape random_broadcastable(Random& random, const Shape& shape);
/// A few shapes of each rank 1 to 5, with ones and primes.
const std::vector<Shape>& common_shapes();

}  // namespace traingraph::testing
