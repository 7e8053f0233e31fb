// SPDX-License-Identifier: MIT
// oneDNN's side of the border: descriptors, errors, bound primitives.
#include "cpu/dnnl_support.h"

#include <algorithm>

#include "cpu/primitive_threads.h"
#include "traingraph/error.h"

namespace traingraph::cpu {
namespace {

// The CPU stream holds no state that executions could disturb, so that all
// threads may share one.
// Never destroyed, as the engine: threads may still compute at exit.
const dnnl::stream& stream() {
  static const auto* stream = new dnnl::stream(engine());
  return *stream;
}

bool is_strided(const dnnl::memory::desc& desc) {
  return desc.get_format_kind() == dnnl::memory::format_kind::blocked &&
         desc.get_inner_nblks() == 0;
}

}  // namespace

const dnnl::engine& engine() {
  static const auto* engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

dnnl::memory::dims to_dims(const Shape& shape) {
  if (shape.empty()) return {1};
  return {shape.begin(), shape.end()};
}

dnnl::memory::data_type to_dnnl(DataType type) {
  using dnnl_type = dnnl::memory::data_type;
  switch (type) {
    case DataType::Float32:
      return dnnl_type::f32;
    case DataType::BFloat16:
      return dnnl_type::bf16;
    case DataType::Float16:
      return dnnl_type::f16;
    case DataType::Int32:
      return dnnl_type::s32;
    case DataType::Int8:
      return dnnl_type::s8;
    case DataType::Boolean:
    case DataType::UInt8:
      return dnnl_type::u8;
    case DataType::Int64:
      // oneDNN has no 64-bit integers. Such tensors stay in plain layout and
      // meet no primitive, so only the size of the element matters.
      return dnnl_type::f64;
  }
  return dnnl_type::undef;
}

dnnl::memory::desc plain_desc(const Shape& shape, DataType type) {
  dnnl::memory::dims dims = to_dims(shape);
  dnnl::memory::dims strides(dims.size(), 1);
  for (std::size_t i = dims.size() - 1; i > 0; --i) {
    strides[i - 1] = strides[i] * dims[i];
  }
  return {dims, to_dnnl(type), strides};
}

bool PlainDescs::Less::operator()(const TensorDescriptor& a,
                                  const TensorDescriptor& b) const {
  if (a.data_type != b.data_type) return a.data_type < b.data_type;
  return std::ranges::lexicographical_compare(a.shape, b.shape);
}

const dnnl::memory::desc& PlainDescs::of(const TensorDescriptor& tensor) {
  const auto [it, is_new] = descs_.try_emplace(tensor);
  if (is_new) it->second = plain_desc(tensor.shape, tensor.data_type);
  return it->second;
}

dnnl::memory::desc layout_like(const dnnl::memory::desc& like,
                               const TensorDescriptor& desc) {
  using tag = dnnl::memory::format_tag;
  if (like.get_ndims() == 4 && desc.shape.rank() == 4) {
    for (tag each : {tag::nhwc, tag::nChw8c, tag::nChw16c}) {
      if (dnnl::memory::desc(like.get_dims(), like.get_data_type(), each) ==
          like) {
        return {to_dims(desc.shape), to_dnnl(desc.data_type), each};
      }
    }
  }
  return plain_desc(desc.shape, desc.data_type);
}

bool same_layout(const dnnl::memory::desc& a, const dnnl::memory::desc& b) {
  if (a == b) return true;
  if (!is_strided(a) || !is_strided(b) || is_padded(a) || is_padded(b) ||
      a.get_data_type() != b.get_data_type() || a.get_dims() != b.get_dims() ||
      a.get_size() != b.get_size()) {
    return false;
  }
  const auto dims = a.get_dims();
  const auto a_strides = a.get_strides(), b_strides = b.get_strides();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != 1 && a_strides[i] != b_strides[i]) return false;
  }
  return true;
}

bool is_plain(const dnnl::memory::desc& layout) {
  if (!is_strided(layout) || is_padded(layout)) return false;
  const auto dims = layout.get_dims(), strides = layout.get_strides();
  std::int64_t expected = 1;
  for (std::size_t i = dims.size(); i-- > 0; expected *= dims[i]) {
    if (dims[i] != 1 && strides[i] != expected) return false;
  }
  return true;
}

bool is_padded(const dnnl::memory::desc& layout) {
  return layout.get_dims() != layout.get_padded_dims();
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

std::size_t scratchpad_bytes(const dnnl::primitive_desc_base& primitive) {
  // scratchpad_desc() would copy a kilobyte for each node.
  const auto* desc = dnnl_primitive_desc_query_md(
      primitive.get(), dnnl_query_scratchpad_md, /*index=*/0);
  return desc == nullptr ? 0 : dnnl_memory_desc_get_size(desc);
}

BoundPrimitive::BoundPrimitive(const dnnl::primitive& primitive,
                               int num_threads, std::span<const Arg> args)
    : primitive_(primitive), num_threads_(num_threads) {
  memories_.reserve(args.size());
  args_.reserve(args.size());
  for (const Arg& arg : args) {
    memories_.emplace_back(arg.desc, engine(), arg.address);
    args_.push_back({arg.dnnl_arg, memories_.back().get()});
  }
}

void BoundPrimitive::operator()() const {
  const PrimitiveThreads threads(num_threads_);
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive_.get(), stream().get(),
                             static_cast<int>(args_.size()), args_.data());
  if (status == dnnl_out_of_memory) fail_out_of_memory("execute", {});
  if (status != dnnl_success) {
    throw DeviceError(ErrorInfo{.op = "execute",
                                .what = "a oneDNN primitive failed",
                                .got = "status " + std::to_string(status)});
  }
}

void fail_out_of_memory(const char* op, const std::string& node) {
  throw OutOfMemoryError(ErrorInfo{.op = op,
                                   .node = node,
                                   .what = "out of host memory",
                                   .hint = "Use a smaller batch."});
}

void rethrow_dnnl(const char* op, const std::string& node,
                  const dnnl::error& error) {
  ErrorInfo info{.op = op, .node = node, .what = error.what()};
  switch (error.status) {
    case dnnl_unimplemented:
    case dnnl_invalid_arguments:  // shape rules passed: beyond oneDNN's range
      info.hint = "The CPU has no kernel for these shapes and attributes.";
      throw UnsupportedError(info);
    case dnnl_out_of_memory:
      fail_out_of_memory(op, node);
    default:
      throw DeviceError(info);
  }
}

}  // namespace traingraph::cpu
