// SPDX-License-Identifier: MIT
#include "runtime/checkpoint/header_json.h"

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "traingraph/error.h"

namespace traingraph {
namespace {

using nlohmann::json;

// Far above any tensor that there is.
constexpr std::size_t kMaxAxes = 64;

/// Takes a header as the parser reads it and stops at the first thing that does
/// not belong there, so that no file makes it hold more than its own text.
class HeaderReader final : public nlohmann::json_sax<json> {
 public:
  explicit HeaderReader(Header& header) : header_(header) {}
  const std::string& problem() const { return problem_; }

  bool null() override { return fail("null"); }
  bool boolean(bool) override { return fail("true or false"); }
  bool number_integer(number_integer_t) override {
    return fail("a negative number");
  }
  bool number_float(number_float_t, const string_t&) override {
    return fail("a number with a fraction");
  }
  bool binary(binary_t&) override { return fail("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (depth_ != 3) return fail("a number");
    if (numbers_.size() == kMaxAxes) return fail("too many numbers");
    numbers_.push_back(value);
    return true;
  }

  bool string(string_t& value) override {
    if (depth_ == 2 && is_metadata_) {
      header_.metadata[key_] = std::move(value);
      return true;
    }
    if (depth_ != 2 || key_ != "dtype") return fail("text");
    header_.tensors.back().dtype = std::move(value);
    return true;
  }

  bool start_object(std::size_t) override {
    if (depth_ > 1) return fail("an object");
    ++depth_;
    return true;
  }

  bool key(string_t& value) override {
    key_ = std::move(value);
    if (depth_ == 1) return begin_entry();
    if (is_metadata_) {
      return !header_.metadata.contains(key_) || fail_twice();
    }
    const bool is_known =
        key_ == "dtype" || key_ == "shape" || key_ == "data_offsets";
    if (!is_known) return fail("the unknown key \"" + key_ + "\"");
    return fields_.insert(key_).second || fail_twice();
  }

  bool end_object() override {
    --depth_;
    if (depth_ != 1 || is_metadata_) return true;
    if (fields_.size() == 3) return true;
    problem_ = "tensor \"" + header_.tensors.back().name +
               "\" lacks its type, shape or offsets";
    return false;
  }

  bool start_array(std::size_t) override {
    const bool fits = depth_ == 2 && !is_metadata_ && key_ != "dtype";
    if (!fits) return fail("a list");
    ++depth_;
    numbers_.clear();
    return true;
  }

  bool end_array() override {
    --depth_;
    StoredTensor& tensor = header_.tensors.back();
    if (key_ == "shape") {
      tensor.shape = numbers_;
      return true;
    }
    if (numbers_.size() != 2) return fail("a list of other than two offsets");
    tensor.begin = numbers_[0];
    tensor.end = numbers_[1];
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const json::exception&) override {
    problem_ = "its header is no JSON at byte " + std::to_string(position);
    return false;
  }

 private:
  bool begin_entry() {
    if (!names_.insert(key_).second) return fail_twice();
    is_metadata_ = key_ == "__metadata__";
    fields_.clear();
    if (!is_metadata_) header_.tensors.emplace_back().name = key_;
    return true;
  }
  bool fail(const std::string& what) {
    problem_ = "its header has " + what + " where that cannot be";
    if (!key_.empty()) problem_ += ", after \"" + key_ + "\"";
    return false;
  }
  bool fail_twice() {
    problem_ = "its header has \"" + key_ + "\" twice";
    return false;
  }

  Header& header_;
  std::string problem_;
  int depth_ = 0;
  bool is_metadata_ = false;
  std::string key_;
  std::set<std::string> names_, fields_;
  std::vector<std::uint64_t> numbers_;
};

}  // namespace

std::string parse_header(const std::string& text, Header& header) {
  if (text.empty() || text.front() != '{')
    return "its header is no JSON object";
  HeaderReader reader(header);
  if (json::sax_parse(text, &reader)) return {};
  return reader.problem().empty() ? "its header is no JSON" : reader.problem();
}

std::string print_header(const char* call,
                         const std::vector<StoredTensor>& tensors,
                         const Metadata& metadata) {
  json header = json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  for (const StoredTensor& tensor : tensors) {
    header[tensor.name] = {
        {"dtype", tensor.dtype},
        {"shape", tensor.shape},
        {"data_offsets", std::vector{tensor.begin, tensor.end}}};
  }
  try {
    return header.dump();
  } catch (const json::type_error& error) {
    throw InvalidArgument(
        ErrorInfo{.op = call,
                  .what = "a name, or text of the metadata, is not UTF-8",
                  .got = error.what()});
  }
}

}  // namespace traingraph
