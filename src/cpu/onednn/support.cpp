// SPDX-License-Identifier: MIT
// oneDNN's side of the border: descriptors, errors, bound primitives.
#include "cpu/onednn/support.h"

#include <memory>
#include <new>
#include <utility>

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

using dnnl::memory;

/// The inverse of to_dnnl() for all types that primitives choose for
/// descriptors.
DataType from_dnnl(memory::data_type type) {
  switch (type) {
    case memory::data_type::bf16:
      return DataType::BFloat16;
    case memory::data_type::f16:
      return DataType::Float16;
    case memory::data_type::s32:
      return DataType::Int32;
    case memory::data_type::s8:
      return DataType::Int8;
    case memory::data_type::u8:
      return DataType::UInt8;
    case memory::data_type::f64:
      return DataType::Int64;
    default:
      return DataType::Float32;
  }
}

bool same_desc(const void* a, const void* b) {
  return *static_cast<const memory::desc*>(a) ==
         *static_cast<const memory::desc*>(b);
}

/// The descriptor of Layout::channel_blocks().
memory::desc blocked_desc(const Layout& layout) {
  using tag = memory::format_tag;
  const bool is_wide = layout.blocks()[0].size == 16;
  const auto format = layout.rank() == 3
                          ? (is_wide ? tag::nCw16c : tag::nCw8c)
                          : (is_wide ? tag::nChw16c : tag::nChw8c);
  return {layout.sizes(), to_dnnl(layout.data_type()), format};
}

}  // namespace

const dnnl::engine& engine() {
  static const auto* engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
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

memory::desc to_desc(const Layout& layout) {
  if (layout.empty()) return {};
  if (layout.native()) {
    return *static_cast<const memory::desc*>(layout.native());
  }
  if (!layout.blocks().empty()) return blocked_desc(layout);
  return {layout.sizes(), to_dnnl(layout.data_type()), layout.strides()};
}

Layout to_layout(const memory::desc& desc) {
  if (desc.get_ndims() == 0) return {};
  const bool is_blocked =
      desc.get_format_kind() == memory::format_kind::blocked;
  const auto sizes = desc.get_dims();
  const DataType type = from_dnnl(desc.get_data_type());
  if (is_blocked && desc.get_inner_nblks() == 0 &&
      sizes == desc.get_padded_dims()) {
    return Layout::strided(sizes, desc.get_strides(), type);
  }
  Layout::Fields fields{.sizes = sizes,
                        .padded_sizes = desc.get_padded_dims(),
                        .strides = {},
                        .blocks = {},
                        .data_type = type,
                        .bytes = desc.get_size(),
                        .is_opaque = !is_blocked,
                        .native = std::make_shared<const memory::desc>(desc),
                        .same_native = same_desc};
  if (is_blocked) {
    fields.strides = desc.get_strides();
    const auto blocks = desc.get_inner_blks(), cut = desc.get_inner_idxs();
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      fields.blocks.push_back({blocks[i], static_cast<int>(cut[i])});
    }
  }
  return Layout(std::move(fields));
}

memory::desc any_layout(const TensorDescriptor& tensor) {
  return {to_sizes(tensor.shape), to_dnnl(tensor.data_type),
          memory::format_tag::any};
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
  require_executed(execute(primitive_, args_));
}

dnnl_status_t execute(const dnnl::primitive& primitive,
                      std::span<const dnnl_exec_arg_t> args) {
  return dnnl_primitive_execute(primitive.get(), stream().get(),
                                static_cast<int>(args.size()), args.data());
}

void require_executed(dnnl_status_t status) {
  if (status == dnnl_out_of_memory) fail_out_of_memory("execute", {});
  if (status != dnnl_success) {
    throw DeviceError(ErrorInfo{.op = "execute",
                                .what = "a oneDNN primitive failed",
                                .got = "status " + std::to_string(status)});
  }
}

namespace {

[[noreturn]] void rethrow(const char* op, const std::string& node,
                          const dnnl::error& error) {
  ErrorInfo info{.op = op, .node = node, .what = error.what()};
  switch (error.status) {
    case dnnl_unimplemented:
    case dnnl_invalid_arguments:  // shape rules passed: beyond oneDNN's range
      info.hint =
          "The CPU has no kernel for these shapes and attributes, or this "
          "oneDNN was built without it.";
      throw UnsupportedError(info);
    case dnnl_out_of_memory:
      fail_out_of_memory(op, node);
    default:
      throw DeviceError(info);
  }
}

}  // namespace

void translate_errors(const char* op, const std::string& node,
                      const std::function<void()>& f) {
  try {
    f();
  } catch (const dnnl::error& error) {
    rethrow(op, node, error);
  } catch (const std::bad_alloc&) {
    fail_out_of_memory(op, node);
  }
}

}  // namespace traingraph::cpu
