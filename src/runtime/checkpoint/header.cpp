// SPDX-License-Identifier: MIT
#include "runtime/checkpoint/header.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "runtime/checkpoint/header_json.h"
#include "traingraph/error.h"
#include "traingraph/half_types.h"

namespace traingraph {
namespace {

struct StoredType {
  std::string_view name;
  std::uint64_t bytes;
  std::optional<DataType> type;
};

constexpr StoredType kTypes[] = {
#define TRAINGRAPH_DATA_TYPE(Type, number, name, element, kind, file) \
  {file, sizeof(element), DataType::Type},
#include "traingraph/data_types.inc"
#undef TRAINGRAPH_DATA_TYPE
    {"F64", 8, std::nullopt},     {"U64", 8, std::nullopt},
    {"C64", 8, std::nullopt},     {"U32", 4, std::nullopt},
    {"I16", 2, std::nullopt},     {"U16", 2, std::nullopt},
    {"F8_E4M3", 1, std::nullopt}, {"F8_E5M2", 1, std::nullopt},
    {"F8_E8M0", 1, std::nullopt}};

const StoredType* find_type(std::string_view name) {
  const auto it = std::ranges::find(kTypes, name, &StoredType::name);
  return it == std::end(kTypes) ? nullptr : it;
}

constexpr std::size_t kLengthBytes = 8, kAlignment = 8;

std::array<std::byte, kLengthBytes> little_endian(std::uint64_t value) {
  std::array<std::byte, kLengthBytes> bytes{};
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    bytes[i] = static_cast<std::byte>(value >> (8 * i));
  }
  return bytes;
}

[[noreturn]] void fail_format(const InputFile& file, const std::string& why) {
  fail_file(file.call(), file.path(), "this is no safetensors file: " + why);
}

/// Throws FileError unless the offsets are those of the shape.
void check_tensor(const InputFile& file, const StoredTensor& tensor,
                  std::uint64_t data_bytes) {
  const auto fail = [&](const std::string& why) {
    fail_format(file, "tensor \"" + tensor.name + "\" " + why);
  };
  const StoredType* const type = find_type(tensor.dtype);
  if (!type) fail("has the unknown type \"" + tensor.dtype + "\"");
  std::uint64_t bytes = type->bytes;
  for (std::uint64_t size : tensor.shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) fail("is too large");
  }
  if (tensor.begin > tensor.end) fail("ends before it begins");
  if (tensor.end > data_bytes) fail("ends behind the end of the file");
  if (tensor.size_bytes() != bytes) {
    fail("has " + std::to_string(tensor.size_bytes()) + " bytes, not the " +
         std::to_string(bytes) + " of " + tensor.to_string());
  }
}

/// Each byte of the data belongs to one tensor.
void check_order(const InputFile& file, const Header& header,
                 std::uint64_t data_bytes) {
  std::vector<const StoredTensor*> sorted;
  for (const StoredTensor& tensor : header.tensors) sorted.push_back(&tensor);
  std::ranges::sort(sorted, {}, [](const StoredTensor* tensor) {
    return std::pair(tensor->begin, tensor->end);
  });
  std::uint64_t end = 0;
  for (const StoredTensor* tensor : sorted) {
    if (tensor->begin < end) {
      fail_format(file, "tensor \"" + tensor->name + "\" overlaps another one");
    }
    if (tensor->begin > end) {
      fail_format(file,
                  "there is a gap before tensor \"" + tensor->name + "\"");
    }
    end = tensor->end;
  }
  if (end != data_bytes) {
    fail_format(file, std::to_string(data_bytes - end) +
                          " bytes at its end belong to no tensor");
  }
}

}  // namespace

bool StoredTensor::has(const TensorDescriptor& descriptor) const {
  return dtype == stored_type(descriptor.data_type) &&
         std::ranges::equal(shape, descriptor.shape,
                            [](std::uint64_t stored, std::int64_t size) {
                              return std::cmp_equal(stored, size);
                            });
}

std::string StoredTensor::to_string() const {
  const StoredType* const type = find_type(dtype);
  std::string text = type && type->type
                         ? std::string(traingraph::to_string(*type->type))
                         : dtype;
  text += " (";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + ")";
}

const StoredTensor* Header::find(std::string_view name) const {
  // Tensors are sorted by name.
  const auto it =
      std::ranges::lower_bound(tensors, name, {}, &StoredTensor::name);
  return it == tensors.end() || it->name != name ? nullptr : &*it;
}

Header read_header(const InputFile& file) {
  std::array<std::byte, kLengthBytes> length{};
  if (file.size() < kLengthBytes) fail_format(file, "it is too short");
  file.read(0, length);
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    size |= std::to_integer<std::uint64_t>(length[i]) << (8 * i);
  }
  if (size > kMaxHeaderBytes) fail_format(file, "its header is too large");
  if (size > file.size() - kLengthBytes) {
    fail_format(file, "its header ends behind the end of the file");
  }
  std::string text(size, '\0');
  file.read(kLengthBytes, std::as_writable_bytes(std::span(text)));
  Header header;
  const std::string problem = parse_header(text, header);
  if (!problem.empty()) fail_format(file, problem);
  header.data_begin = kLengthBytes + size;
  const std::uint64_t data_bytes = file.size() - header.data_begin;
  for (const StoredTensor& tensor : header.tensors) {
    check_tensor(file, tensor, data_bytes);
  }
  check_order(file, header, data_bytes);
  std::ranges::sort(header.tensors, {}, &StoredTensor::name);
  return header;
}

std::string header_text(const char* call,
                        const std::vector<StateTensor>& tensors,
                        const Metadata& metadata) {
  std::vector<StoredTensor> stored;
  std::uint64_t at = 0;
  for (const auto& [name, descriptor] : tensors) {
    const std::uint64_t begin = at;
    at += descriptor.size_bytes();
    stored.push_back(
        {.name = name,
         .dtype = std::string(stored_type(descriptor.data_type)),
         .shape = {descriptor.shape.begin(), descriptor.shape.end()},
         .begin = begin,
         .end = at});
  }
  std::string json = print_header(call, stored, metadata);
  json.resize((json.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  if (json.size() > kMaxHeaderBytes) {
    throw InvalidArgument(ErrorInfo{
        .op = call,
        .node = "metadata",
        .what = "the header of the file becomes too large",
        .expected = "at most " + std::to_string(kMaxHeaderBytes) + " bytes",
        .got = std::to_string(json.size())});
  }
  const auto length = little_endian(json.size());
  return std::string(reinterpret_cast<const char*>(length.data()),
                     length.size()) +
         json;
}

std::string_view stored_type(DataType type) {
  const auto it =
      std::ranges::find(kTypes, std::optional(type), &StoredType::type);
  return it->name;
}

}  // namespace traingraph
