// SPDX-License-Identifier: MIT
#include "ops/cases.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "graph/attributes.h"
#include "graph/op_def.h"

namespace traingraph::testing {
namespace {

constexpr std::uint64_t kSeed = 20260801;
constexpr double kKinkGap = 0.01;

double draw(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

RefTensor fill(const Shape& shape, const std::function<double()>& f) {
  RefTensor x = zeros(shape);
  for (double& element : x.data) element = f();
  return x;
}

/// Calls f(first element, stride, length) for every row along axis 1.
void for_each_row(
    const Shape& shape,
    const std::function<void(std::size_t, std::size_t, std::size_t)>& f) {
  std::size_t inner = 1;
  for (int axis = 2; axis < shape.rank(); ++axis) inner *= shape[axis];
  const auto length = static_cast<std::size_t>(shape[1]);
  for (std::size_t n = 0; n < static_cast<std::size_t>(shape[0]); ++n) {
    for (std::size_t i = 0; i < inner; ++i) {
      f(n * length * inner + i, inner, length);
    }
  }
}

}  // namespace

Domain uniform(double low, double high) { return avoiding({}, low, high); }

Domain avoiding(std::vector<double> kinks, double low, double high) {
  return [=](const Shape& shape, const RefTensors&, Random& random) {
    return fill(shape, [&] {
      double x = draw(random, low, high);
      const auto is_near = [&](double kink) {
        return std::abs(x - kink) < kKinkGap;
      };
      while (std::ranges::any_of(kinks, is_near)) x = draw(random, low, high);
      return x;
    });
  };
}

Domain distinct(double low, double high) {
  return [=](const Shape& shape, const RefTensors&, Random& random) {
    RefTensor x = zeros(shape);
    const double step = (high - low) / static_cast<double>(x.data.size());
    for (std::size_t i = 0; i < x.data.size(); ++i) {
      x.data[i] = low + step * (static_cast<double>(i) + 0.5);
    }
    std::shuffle(x.data.begin(), x.data.end(), random);
    return x;
  };
}

Domain integers(int low, int high) {
  return [=](const Shape& shape, const RefTensors&, Random& random) {
    return fill(shape,
                [&] { return static_cast<double>(pick(random, low, high)); });
  };
}

Domain booleans() { return integers(0, 1); }

Domain one_hot() {
  return [](const Shape& shape, const RefTensors&, Random& random) {
    RefTensor x = zeros(shape);
    for_each_row(shape, [&](std::size_t at, std::size_t stride, std::size_t n) {
      x.data[at + stride * (random() % n)] = 1;
    });
    return x;
  };
}

Domain distribution() {
  return [](const Shape& shape, const RefTensors&, Random& random) {
    RefTensor x = fill(shape, [&] { return draw(random, 0.2, 1); });
    for_each_row(shape, [&](std::size_t at, std::size_t stride, std::size_t n) {
      double sum = 0;
      for (std::size_t k = 0; k < n; ++k) sum += x.data[at + k * stride];
      for (std::size_t k = 0; k < n; ++k) x.data[at + k * stride] /= sum;
    });
    return x;
  };
}

Domain values(std::vector<double> elements) {
  return [=](const Shape& shape, const RefTensors&, Random&) {
    std::size_t i = 0;
    return fill(shape, [&] { return elements[i++ % elements.size()]; });
  };
}

Domain derived(std::function<RefTensor(const RefTensors& earlier)> f) {
  return [f = std::move(f)](const Shape&, const RefTensors& earlier, Random&) {
    return f(earlier);
  };
}

std::string describe(const OpCase& op_case) {
  std::string text = op_def(op_case.op).name;
  text += " " + to_string(op_case.attrs);
  for (const CaseInput& input : op_case.inputs) {
    text += " " + input.shape.to_string();
    if (input.data_type == DataType::Float32) continue;
    text += std::string(" ") + std::string(to_string(input.data_type));
  }
  return text + " seed " + std::to_string(cases_seed());
}

OpCase stored_as(OpCase op_case, DataType type) {
  const OpDef& op = op_def(op_case.op);
  bool is_changed = false;
  for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
    CaseInput& input = op_case.inputs[i];
    const DataTypes types = input_def(op, static_cast<int>(i)).types;
    const bool is_float = input.data_type == DataType::Float32;
    if (input.shape.empty() || !is_float || (types & bit(type)) == 0) continue;
    input.data_type = type;
    is_changed = true;
  }
  const auto change = [&](DataType& made) {
    if (!is_changed && made == DataType::Float32) made = type;
  };
  if (auto* cast = std::get_if<CastAttrs>(&op_case.attrs)) {
    change(cast->data_type);
  }
  if (auto* fill = std::get_if<FillAttrs>(&op_case.attrs)) {
    change(fill->data_type);
  }
  return op_case;
}

std::uint64_t cases_seed() {
  const char* text = std::getenv("TRAINGRAPH_TEST_SEED");
  return text == nullptr ? kSeed : std::strtoull(text, nullptr, 10);
}

const OpCases& op_cases() {
  static const OpCases* cases = [] {
    auto* all = new OpCases;
    Random random(cases_seed());
    for (auto* add :
         {add_elementwise_cases,   add_matmul_cases,     add_conv_cases,
          add_pool_cases,          add_norm_cases,       add_sample_norm_cases,
          add_reduce_cases,        add_upsample_cases,   add_gather_cases,
          add_rnn_cases,           add_attention_cases,  add_layout_cases,
          add_loss_cases,          add_loss_label_cases, add_yolo_loss_cases,
          add_update_cases,        add_gru_cases,        add_single_gate_cases,
          add_norm_part_cases,     add_ctc_loss_cases,   add_integer_cases,
          add_cumulative_sum_cases}) {
      add(*all, random);
    }
    for (OpCase& op_case : *all) op_case.seed = random();
    return all;
  }();
  return *cases;
}

double sum_tolerance(std::int64_t num_terms) {
  const double length = static_cast<double>(num_terms) / 100;
  return kTolerance * std::sqrt(std::max(1.0, length));
}

std::int64_t pick(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

Shape random_shape(Random& random, int rank, std::int64_t largest) {
  Shape shape;
  for (int axis = 0; axis < rank; ++axis) {
    shape.push_back(pick(random, 1, largest));
  }
  return shape;
}

Shape random_broadcastable(Random& random, const Shape& shape) {
  const auto dropped = static_cast<int>(pick(random, 0, shape.rank() - 1));
  Shape result;
  for (int axis = dropped; axis < shape.rank(); ++axis) {
    result.push_back(pick(random, 0, 2) == 0 ? 1 : shape[axis]);
  }
  return result;
}

const std::vector<Shape>& common_shapes() {
  static const auto* shapes = new std::vector<Shape>{
      {1},       {13},         {1, 1},       {3, 7},         {2, 1, 5},
      {2, 3, 4}, {1, 5, 1, 3}, {2, 3, 5, 7}, {2, 1, 3, 1, 4}};
  return *shapes;
}

}  // namespace traingraph::testing
