// SPDX-License-Identifier: MIT
#include "cuda/code/kernel_writer.h"

#include <bit>
#include <cmath>
#include <utility>

#include "traingraph/error.h"

namespace traingraph::cuda {
namespace {

constexpr std::int64_t kMaxBlocks = (std::int64_t{1} << 31) - 1;

}  // namespace

std::string type_text(DataType type) {
  switch (type) {
    case DataType::Float32:
      return "float";
    case DataType::Float16:
      return "float16";
    case DataType::BFloat16:
      return "bfloat16";
    case DataType::Int8:
      return "int8";
    case DataType::UInt8:
      return "uint8";
    case DataType::Int32:
      return "int32";
    case DataType::Int64:
      return "int64";
    case DataType::Boolean:
      return "boolean";
    default:
      throw InternalError(ErrorInfo{.op = "compile",
                                    .node = "gpu",
                                    .what = "kernels have no such type",
                                    .got = std::string(to_string(type))});
  }
}

/// By bits: text in decimals would have to be the shortest that reads back.
std::string literal(float value) {
  return "float_of(" + std::to_string(std::bit_cast<std::uint32_t>(value)) +
         "u)";
}

std::string literal(std::int64_t value) {
  return "Index(" + std::to_string(value) + ")";
}

std::string KernelWriter::pointer(int arg, DataType type, std::int64_t offset) {
  return add(type_text(type) + "*", "p", {{arg, offset}});
}

std::string KernelWriter::number(std::int64_t value, bool varies) {
  return varies ? add("Index", "n", {{-1, value}}) : literal(value);
}

std::string KernelWriter::words(const std::vector<Parameter>& words) {
  return add(
      "const __grid_constant__ Words<" + std::to_string(words.size()) + ">",
      "w", words);
}

std::string KernelWriter::add(const std::string& type, std::string name,
                              const std::vector<Parameter>& parameter) {
  name += std::to_string(starts_.size());
  signature_ += (starts_.empty() ? "" : ", ") + type + " " + name;
  starts_.push_back(static_cast<std::uint32_t>(parameters_.size()));
  parameters_.insert(parameters_.end(), parameter.begin(), parameter.end());
  return name;
}

Launch KernelWriter::launch(std::int64_t blocks, unsigned threads,
                            unsigned shared_bytes) && {
  if (blocks < 1 || blocks > kMaxBlocks) {
    throw InternalError(ErrorInfo{.op = "compile",
                                  .node = "gpu",
                                  .what = "a grid has too many blocks",
                                  .got = std::to_string(blocks)});
  }
  text_.definition = "extern \"C\" __global__ void __launch_bounds__(" +
                     std::to_string(threads) + (needs_registers_ ? ", 1" : "") +
                     ") KERNEL(" + signature_ +
                     ") {\n  begin_after_previous();\n" + body_ + "}\n";
  return {.text = std::move(text_),
          .shape = {.blocks = static_cast<unsigned>(blocks),
                    .threads = threads,
                    .shared_bytes = shared_bytes},
          .parameters = std::move(parameters_),
          .starts = std::move(starts_)};
}

void emit(UnitBuilder& unit, std::vector<Launch> launches) {
  auto code = std::make_unique<CudaCode>();
  code->launches = std::move(launches);
  unit.emit(std::move(code));
}

}  // namespace traingraph::cuda
