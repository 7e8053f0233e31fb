// SPDX-License-Identifier: MIT
#include "ops/interpreter.h"

#include <cmath>
#include <functional>
#include <stdexcept>

#include "graph/op_def.h"

namespace traingraph::testing {
namespace {

using Index = Shape;
using Data = std::vector<double>;

/// Calls visit(index) for every index of `shape`, row-major.
void for_each_index(const Shape& shape,
                    const std::function<void(const Index&)>& visit) {
  Index index = Shape::filled(shape.rank(), 0);
  for (std::int64_t n = shape.num_elements(); n > 0; --n) {
    visit(index);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

/// Position of `index` in a tensor of `shape`, which may broadcast.
std::size_t at(const Shape& shape, const Index& index) {
  std::int64_t position = 0;
  const int offset = index.rank() - shape.rank();
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t i = shape[axis] == 1 ? 0 : index[axis + offset];
    position = position * shape[axis] + i;
  }
  return static_cast<std::size_t>(position);
}

double unary(ArithmeticOperation operation, double x) {
  using enum ArithmeticOperation;
  switch (operation) {
    case Floor:
      return std::floor(x);
    case Round:
      return std::nearbyint(x);
    case Ceil:
      return std::ceil(x);
    case Sqrt:
      return std::sqrt(x);
    case Rsqrt:
      return 1 / std::sqrt(x);
    case Sin:
      return std::sin(x);
    case Cos:
      return std::cos(x);
    case Tan:
      return std::tan(x);
    case Asin:
      return std::asin(x);
    case Acos:
      return std::acos(x);
    case Atan:
      return std::atan(x);
    case Sinh:
      return std::sinh(x);
    case Cosh:
      return std::cosh(x);
    case Tanh:
      return std::tanh(x);
    case Asinh:
      return std::asinh(x);
    case Acosh:
      return std::acosh(x);
    case Atanh:
      return std::atanh(x);
    case Exp:
      return std::exp(x);
    case Exp2:
      return std::exp2(x);
    case Log:
      return std::log(x);
    case Log2:
      return std::log2(x);
    default:
      throw std::logic_error("not unary");
  }
}

double binary(ArithmeticOperation operation, double x, double y) {
  using enum ArithmeticOperation;
  switch (operation) {
    case Add:
      return x + y;
    case Subtract:
      return x - y;
    case Multiply:
      return x * y;
    case Divide:
      return x / y;
    case Pow:
      return std::pow(x, y);
    case MultiplyNoNaN:
      return y == 0 ? 0 : x * y;
    case DivideNoNaN:
      return y == 0 ? 0 : x / y;
    case Min:
      return x <= y ? x : y;
    case Max:
      return x >= y ? x : y;
    default:
      throw std::logic_error("not binary");
  }
}

bool compare(ComparisonOperation operation, double x, double y) {
  using enum ComparisonOperation;
  switch (operation) {
    case Equal:
      return x == y;
    case NotEqual:
      return x != y;
    case Less:
      return x < y;
    case Greater:
      return x > y;
    case LessOrEqual:
      return x <= y;
    case GreaterOrEqual:
      return x >= y;
    case LogicalAND:
      return x != 0 && y != 0;
    case LogicalOR:
      return x != 0 || y != 0;
    default:
      throw std::logic_error("not needed by gradients");
  }
}

/// Source position of padded position `i`; -1: outside.
std::int64_t unpadded(const PadAttrs& attrs, int axis, std::int64_t i,
                      std::int64_t extent) {
  i -= attrs.before[axis];
  if (i >= 0 && i < extent) return i;
  if (attrs.type == PaddingType::Reflect) {
    return i < 0 ? -i : 2 * (extent - 1) - i;
  }
  if (attrs.type == PaddingType::Symmetric) {
    return i < 0 ? -i - 1 : 2 * extent - 1 - i;
  }
  return -1;
}

class NodeRun {
 public:
  NodeRun(const Program& program, const Node& node, Contents& contents)
      : program_(program), node_(node), contents_(contents) {}

  void run() {
    for (ValueId id : node_.outputs) {
      contents_[id].assign(program_.shape(id).num_elements(), 0);
    }
    switch (node_.op->kind) {
      case OpKind::Activation:
        return linear();
      case OpKind::Unary:
        return map([&](const Index& i) {
          return unary(attrs<ArithmeticAttrs>().operation, read(0, i));
        });
      case OpKind::Binary:
        return map([&](const Index& i) {
          return binary(attrs<ArithmeticAttrs>().operation, read(0, i),
                        read(1, i));
        });
      case OpKind::Compare:
        return map([&](const Index& i) {
          return compare(attrs<CompareAttrs>().operation, read(0, i),
                         read(1, i));
        });
      case OpKind::Select:
        return map([&](const Index& i) {
          return read(0, i) != 0 ? read(1, i) : read(2, i);
        });
      case OpKind::Cast:
      case OpKind::BroadcastTo:
        return map([&](const Index& i) { return read(0, i); });
      case OpKind::Fill:
        return map([&](const Index&) { return attrs<FillAttrs>().value; });
      case OpKind::MatMul:
        return matmul();
      case OpKind::Reduce:
        return reduce();
      case OpKind::SquaredNorm:
        for (double x : data(0)) result()[0] += x * x;
        return;
      case OpKind::Reshape:
        result() = data(0);
        return;
      case OpKind::Transpose:
        return transpose();
      case OpKind::Concatenate:
        return concatenate();
      case OpKind::Split:
        return split();
      case OpKind::Slice:
        return slice(attrs<SliceAttrs>(), false);
      case OpKind::SliceGradient:
        return slice(attrs<SliceGradientAttrs>(), true);
      case OpKind::Pad:
        return pad(false);
      case OpKind::PadGradient:
        return pad(true);
      default:
        throw std::logic_error(node_.op->name);
    }
  }

 private:
  template <class Attrs>
  const Attrs& attrs() const {
    return std::get<Attrs>(node_.attrs);
  }
  const Shape& shape(int i) const { return program_.shape(node_.inputs[i]); }
  const Data& data(int i) const { return contents_[node_.inputs[i]]; }
  double read(int i, const Index& index) const {
    return data(i)[at(shape(i), index)];
  }
  const Shape& result_shape(int i = 0) const {
    return program_.shape(node_.outputs[i]);
  }
  Data& result(int i = 0) { return contents_[node_.outputs[i]]; }

  void map(const std::function<double(const Index&)>& f) {
    std::size_t position = 0;
    for_each_index(result_shape(),
                   [&](const Index& i) { result()[position++] = f(i); });
  }

  void linear() {
    const auto& activation = attrs<ActivationAttrs>();
    if (activation.type != ActivationType::Linear) {
      throw std::logic_error("only the linear activation");
    }
    map([&](const Index& i) {
      return double{activation.a} * read(0, i) + double{activation.b};
    });
  }

  void matmul() {
    const auto& product = attrs<MatMulAttrs>();
    const int rank = shape(0).rank();
    const std::int64_t inner =
        shape(0)[product.transposes_x ? rank - 2 : rank - 1];
    map([&](const Index& i) {
      double sum = 0;
      Index x = i, y = i;
      const int row = i.rank() - 2, column = i.rank() - 1;
      for (std::int64_t k = 0; k < inner; ++k) {
        x[row] = product.transposes_x ? k : i[row];
        x[column] = product.transposes_x ? i[row] : k;
        y[row] = product.transposes_y ? i[column] : k;
        y[column] = product.transposes_y ? k : i[column];
        sum += read(0, x) * read(1, y);
      }
      const bool has_bias = node_.inputs[2] != kNoValue;
      return product.alpha * sum + (has_bias ? read(2, i) : 0);
    });
  }

  void reduce() {
    const auto type = attrs<ReduceAttrs>().type;
    std::vector<std::int64_t> count(result().size(), 0);
    for_each_index(shape(0), [&](const Index& i) {
      const std::size_t position = at(result_shape(), i);
      double& y = result()[position];
      const double x = read(0, i);
      const bool is_first = count[position]++ == 0;
      if (type == ReductionType::L1Norm) {
        y += std::abs(x);
      } else if (type == ReductionType::Max) {
        y = is_first ? x : std::max(x, y);
      } else if (type == ReductionType::Min) {
        y = is_first ? x : std::min(x, y);
      } else {
        y += x;
      }
    });
    if (type != ReductionType::Mean) return;
    for (double& y : result()) y /= static_cast<double>(count[0]);
  }

  void transpose() {
    const Shape& dimensions = attrs<TransposeAttrs>().dimensions;
    map([&](const Index& i) {
      Index source = i;
      for (int k = 0; k < i.rank(); ++k) {
        source[static_cast<int>(dimensions[k])] = i[k];
      }
      return read(0, source);
    });
  }

  void concatenate() {
    const int axis = static_cast<int>(attrs<AxisAttrs>().axis);
    std::int64_t start = 0;
    for (std::size_t part = 0; part < node_.inputs.size(); ++part) {
      const int k = static_cast<int>(part);
      for_each_index(shape(k), [&](const Index& i) {
        Index target = i;
        target[axis] += start;
        result()[at(result_shape(), target)] = read(k, i);
      });
      start += shape(k)[axis];
    }
  }

  void split() {
    const int axis = static_cast<int>(attrs<SplitAttrs>().axis);
    std::int64_t start = 0;
    for (std::size_t part = 0; part < node_.outputs.size(); ++part) {
      const int k = static_cast<int>(part);
      for_each_index(result_shape(k), [&](const Index& i) {
        Index source = i;
        source[axis] += start;
        result(k)[at(result_shape(k), i)] = read(0, source);
      });
      start += result_shape(k)[axis];
    }
  }

  template <class Attrs>
  void slice(const Attrs& range, bool is_gradient) {
    const Shape& part = is_gradient ? shape(0) : result_shape();
    for_each_index(part, [&](const Index& i) {
      Index whole = i;
      for (int axis = 0; axis < i.rank(); ++axis) {
        const std::int64_t step = range.stride.empty() ? 1 : range.stride[axis];
        whole[axis] = range.start[axis] + i[axis] * step;
      }
      if (is_gradient) {
        result()[at(result_shape(), whole)] = read(0, i);
      } else {
        result()[at(part, i)] = read(0, whole);
      }
    });
  }

  void pad(bool is_gradient) {
    const auto& padding = attrs<PadAttrs>();
    const Shape& padded = is_gradient ? shape(0) : result_shape();
    const Shape& inner = is_gradient ? result_shape() : shape(0);
    for_each_index(padded, [&](const Index& i) {
      Index source = i;
      bool is_inside = true;
      for (int axis = 0; axis < i.rank(); ++axis) {
        source[axis] = unpadded(padding, axis, i[axis], inner[axis]);
        is_inside = is_inside && source[axis] >= 0;
      }
      if (is_gradient) {
        if (is_inside) result()[at(inner, source)] += read(0, i);
      } else {
        result()[at(padded, i)] =
            is_inside ? read(0, source) : double{padding.value};
      }
    });
  }

  const Program& program_;
  const Node& node_;
  Contents& contents_;
};

}  // namespace

void interpret(const Program& program, Contents& contents) {
  contents.resize(program.values().size());
  for (const Node& node : program.nodes()) {
    NodeRun(program, node, contents).run();
  }
}

}  // namespace traingraph::testing
