// SPDX-License-Identifier: MIT
// Tensors of integers and back, at once and on the host.
#include <cmath>
#include <cstring>
#include <limits>

#include "base/axes.h"
#include "base/convert.h"
#include "base/format.h"
#include "traingraph/device.h"
#include "traingraph/error.h"
#include "traingraph/tensor.h"

namespace traingraph {
namespace {

using Bytes = std::vector<std::byte>;

constexpr const char* kQuantized = "quantized";
constexpr const char* kDequantized = "dequantized";

[[noreturn]] void fail_type(const char* call, const Tensor& x, const char* what,
                            const char* expected, DataType got) {
  throw DTypeError(ErrorInfo{.op = call,
                             .node = x.name(),
                             .what = what,
                             .expected = expected,
                             .got = std::string(to_string(got)),
                             .hint = {}});
}

/// Calls action(T()) for the type that stores `type`; false for no integers of
/// these.
template <class Action>
bool visit_integers(DataType type, Action&& action) {
  switch (type) {
    // The branches differ by their types. NOLINTNEXTLINE(bugprone-branch-clone)
    case DataType::Int8:
      return action(std::int8_t()), true;
    case DataType::UInt8:
      return action(std::uint8_t()), true;
    case DataType::Int32:
      return action(std::int32_t()), true;
    default:
      return false;
  }
}

/// The device's values, or else the host's.
Bytes newest(const char* call, const Tensor& x) {
  Bytes bytes(x.descriptor().size_bytes());
  if (!x.has_data()) {
    throw StateError(
        ErrorInfo{.op = call,
                  .node = x.name(),
                  .what = "the tensor has no data",
                  .expected = "values on the host or on a device",
                  .got = "none",
                  .hint = "Give it data, or run the graph that computes "
                          "it as an output."});
  }
  x.copy_data(bytes);
  return bytes;
}

template <class T>
void append(const Bytes& bytes, std::vector<double>& numbers) {
  const auto* values = reinterpret_cast<const T*>(bytes.data());
  for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    numbers.push_back(static_cast<double>(values[i]));
  }
}

/// One scale and bias for the whole tensor, or one per index on an axis.
struct Ranges {
  std::vector<double> scales, biases;
  std::int64_t inner = 1;  // elements that follow each other in one of them
};

void require_scales(const char* call, const Tensor& x,
                    const std::vector<double>& scales) {
  for (const double scale : scales) {
    if (std::isfinite(scale) && scale > 0) continue;
    throw InvalidArgument(
        ErrorInfo{.op = call,
                  .node = x.name(),
                  .what = "a scale is out of range",
                  .expected = "a finite number above 0",
                  .got = format_value(static_cast<float>(scale)),
                  .hint = {}});
  }
}

Ranges ranges_of(const char* call, const Tensor& x, const Tensor& scale,
                 const Tensor& bias, std::optional<int> axis) {
  const Shape shape = x.shape();
  Ranges ranges;
  std::int64_t count = 1;
  if (axis) {
    const int rank = shape.rank();
    const auto at =
        static_cast<int>(resolve_axis(*axis, rank, call, x.name(), "axis"));
    count = shape[at];
    for (int i = at + 1; i < rank; ++i) ranges.inner *= shape[i];
  } else {
    ranges.inner = shape.num_elements();
  }
  const auto require_count = [&](const Tensor& given, const char* what) {
    if (given.shape().num_elements() == count) return;
    throw ShapeError(
        ErrorInfo{.op = call,
                  .node = x.name(),
                  .what = std::string(what) + " has the wrong size",
                  .expected = axis ? std::to_string(count) + " elements"
                                   : "one element, or an axis",
                  .got = given.shape().to_string(),
                  .hint = {}});
  };
  require_count(scale, "scale");
  require_count(bias, "bias");
  if (scale.data_type() != DataType::Float32) {
    fail_type(call, x, "scale has the wrong type", "float32",
              scale.data_type());
  }
  append<float>(newest(call, scale), ranges.scales);
  require_scales(call, x, ranges.scales);
  const Bytes biases = newest(call, bias);
  if (bias.data_type() == DataType::Int64) {
    append<std::int64_t>(biases, ranges.biases);
  } else if (!visit_integers(bias.data_type(), [&]<class T>(T) {
               append<T>(biases, ranges.biases);
             })) {
    fail_type(call, x, "bias has the wrong type", "int8, uint8, int32 or int64",
              bias.data_type());
  }
  return ranges;
}

Ranges one_range(const char* call, const Tensor& x, float scale,
                 std::int64_t bias) {
  Ranges ranges{.scales = {scale},
                .biases = {static_cast<double>(bias)},
                .inner = x.shape().num_elements()};
  require_scales(call, x, ranges.scales);
  return ranges;
}

/// y[i] = f(x[i], scale, bias).
template <class To, class From, class Function>
Bytes map(const Bytes& x, const Ranges& ranges, Function f) {
  const std::size_t count = x.size() / sizeof(From);
  const auto* from = reinterpret_cast<const From*>(x.data());
  Bytes y(count * sizeof(To));
  auto* to = reinterpret_cast<To*>(y.data());
  const auto inner = static_cast<std::size_t>(ranges.inner);
  for (std::size_t i = 0, range = 0; i < count; i += inner, ++range) {
    const std::size_t which = range % ranges.scales.size();
    const double scale = ranges.scales[which], bias = ranges.biases[which];
    for (std::size_t k = i; k < i + inner; ++k) to[k] = f(from[k], scale, bias);
  }
  return y;
}

Tensor like(const Tensor& x, DataType type, const Bytes& bytes) {
  const TensorData data(bytes.data(), bytes.size());
  if (const auto sequences = x.sequence_descriptor()) {
    return Tensor(SequenceDescriptor(x.shape(), sequences->sequence_lengths,
                                     sequences->sorted_sequences, type),
                  data);
  }
  return Tensor(TensorDescriptor{x.shape(), type}, data, {}, x.batch_axis());
}

void require_quantizable(const Tensor& x, DataType type) {
  if (x.data_type() != DataType::Float32) {
    fail_type(kQuantized, x, "the tensor has the wrong type", "float32",
              x.data_type());
  }
  if (!visit_integers(type, [](auto) {})) {
    fail_type(kQuantized, x, "tensors are not quantized to this type",
              "int8, uint8 or int32", type);
  }
}

void require_dequantizable(const Tensor& x, DataType type) {
  if (!visit_integers(x.data_type(), [](auto) {})) {
    fail_type(kDequantized, x, "the tensor has the wrong type",
              "int8, uint8 or int32", x.data_type());
  }
  if (type != DataType::Float32) {
    fail_type(kDequantized, x, "tensors are not dequantized to this type",
              "float32", type);
  }
}

Tensor quantize(const Tensor& x, DataType type, const Ranges& ranges) {
  const Bytes from = newest(kQuantized, x);
  Bytes to;
  visit_integers(type, [&]<class T>(T) {
    to = map<T, float>(from, ranges, [](float v, double scale, double bias) {
      const double steps = std::isnan(v) ? 0 : std::rint(v / scale);
      return convert<T>(steps + bias);
    });
  });
  return like(x, type, to);
}

Tensor dequantize(const Tensor& q, const Ranges& ranges) {
  const Bytes from = newest(kDequantized, q);
  Bytes to;
  visit_integers(q.data_type(), [&]<class T>(T) {
    to = map<float, T>(from, ranges, [](T v, double scale, double bias) {
      return static_cast<float>((v - bias) * scale);
    });
  });
  return like(q, DataType::Float32, to);
}

}  // namespace

Tensor Tensor::quantized(DataType type, float scale, std::int64_t bias) const {
  require_quantizable(*this, type);
  return quantize(*this, type, one_range(kQuantized, *this, scale, bias));
}

Tensor Tensor::quantized(DataType type, const Tensor& scale, const Tensor& bias,
                         std::optional<int> axis) const {
  require_quantizable(*this, type);
  return quantize(*this, type, ranges_of(kQuantized, *this, scale, bias, axis));
}

Tensor Tensor::dequantized(DataType type, float scale,
                           std::int64_t bias) const {
  require_dequantizable(*this, type);
  return dequantize(*this, one_range(kDequantized, *this, scale, bias));
}

Tensor Tensor::dequantized(DataType type, const Tensor& scale,
                           const Tensor& bias, std::optional<int> axis) const {
  require_dequantizable(*this, type);
  return dequantize(*this, ranges_of(kDequantized, *this, scale, bias, axis));
}

}  // namespace traingraph
