// SPDX-License-Identifier: MIT
// Thousands of files whose graph is not what export_graph() writes: each ends
// in a typed error, or is a graph that runs or says why not.
#include <gtest/gtest.h>

#include "artefact/artefact_fixture.h"
#include "runtime/checkpoint/header.h"
#include "runtime/session/training_state.h"

namespace traingraph {
namespace {

using namespace testing;

/// A file in its parts, and with another graph.
class File {
 public:
  explicit File(const std::filesystem::path& path) {
    const Header header = read_header(InputFile("load", path));
    metadata_ = header.metadata;
    data_ = bytes_of(path).substr(header.data_begin);
    auto tensors = header.tensors;
    std::ranges::sort(tensors, {}, &StoredTensor::begin);
    for (const StoredTensor& tensor : tensors) {
      const std::vector<std::int64_t> sizes(tensor.shape.begin(),
                                            tensor.shape.end());
      const DataType type =
          tensor.dtype == "I32" ? DataType::Int32 : DataType::Float32;
      tensors_.push_back({tensor.name, {Shape(std::span(sizes)), type}});
    }
  }
  const std::string& graph() const { return metadata_.at(kOwnMetadata); }
  void write(const std::filesystem::path& path, std::string graph) const {
    Metadata metadata = metadata_;
    metadata[kOwnMetadata] = std::move(graph);
    write_bytes(path, header_text("test", tensors_, metadata) + data_);
  }

 private:
  Metadata metadata_;
  std::vector<StateTensor> tensors_;
  std::string data_;
};

/// Numbers and words of a text, changed for others.
class Tokens {
 public:
  Tokens(std::string text, unsigned seed)
      : text_(std::move(text)), random_(seed) {
    for (std::size_t i = 0; i < text_.size();) {
      std::size_t end = i;
      if (text_[i] == '"') {
        end = text_.find('"', i + 1) + 1;
        (text_[end] == ':' ? keys_ : words_).push_back({i, end - i});
      } else {
        while (end < text_.size() && is_number(text_[end])) ++end;
        if (end > i) numbers_.push_back({i, end - i});
      }
      i = std::max(end, i + 1);
    }
  }

  std::string next() {
    std::string text = text_;
    const auto pick = [&](const auto& list) -> const auto& {
      return list[random_() % list.size()];
    };
    // Changes go from behind, so that places stay right.
    std::vector<std::pair<Place, std::string>> changes;
    for (auto n = random_() % 3 + 1; n > 0; --n) {
      switch (random_() % 8) {
        case 0:
          changes.emplace_back(pick(words_), string_of(pick(words_)));
          break;
        case 1:
          changes.emplace_back(pick(keys_), string_of(pick(keys_)));
          break;
        case 2:
          changes.emplace_back(pick(numbers_), string_of(pick(numbers_)));
          break;
        case 3:
          changes.emplace_back(pick(numbers_), "\"x\"");
          break;
        default:
          changes.emplace_back(pick(numbers_), pick(kNumbers));
      }
    }
    std::ranges::sort(changes, std::greater(),
                      [](const auto& c) { return c.first.at; });
    std::size_t last = text.size();
    for (const auto& [place, change] : changes) {
      if (place.at + place.size > last) continue;
      text.replace(place.at, place.size, change);
      last = place.at;
    }
    return text;
  }

 private:
  struct Place {
    std::size_t at, size;
  };
  inline static const std::vector<std::string> kNumbers{"0",
                                                        "1",
                                                        "2",
                                                        "3",
                                                        "-1",
                                                        "4",
                                                        "5",
                                                        "7",
                                                        "12",
                                                        "64",
                                                        "1000000",
                                                        "2147483647",
                                                        "1e30",
                                                        "-0.5",
                                                        "4294967296",
                                                        "1099511627776",
                                                        "null",
                                                        "16777217",
                                                        "9223372036854775807",
                                                        "18446744073709551615"};

  static bool is_number(char c) {
    return (c >= '0' && c <= '9') || c == '-' || c == '.';
  }
  std::string string_of(const Place& place) const {
    return text_.substr(place.at, place.size);
  }

  std::string text_;
  std::mt19937 random_;
  std::vector<Place> numbers_, words_, keys_;
};

/// Loads it and, where it is small enough, runs it.
void use(const std::filesystem::path& path, bool runs) {
  const LoadOptions options{.with_state = runs};
  if (!runs) InferenceGraph::load(path, test_device(), options);
  TrainingGraph graph = TrainingGraph::load(path, test_device(), options);
  constexpr std::size_t kMaxBytes = std::size_t{1} << 26;
  if (graph.required_bytes() > kMaxBytes) return;
  try {
    run_steps(graph, {}, 0, 2);
  } catch (const Error&) {
    return;  // other names and shapes than the steps have
  }
}

class Hostile : public ::testing::TestWithParam<Kind> {};

TEST_P(Hostile, GraphsOfDamagedFiles) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const Folder folder;
  Built built = GetParam().build();
  run_steps(built.training, built.gradients, 0, 2);
  built.training.export_graph(folder / "net");
  const File file(folder / "net");
  file.write(folder / "same", file.graph());
  use(folder / "same", true);
  Tokens tokens(file.graph(), seed);
  int refused = 0;
  constexpr int kCount = 400;
  for (int i = 0; i < kCount; ++i) {
    const std::string graph = tokens.next();
    file.write(folder / "damaged", graph);
    try {
      use(folder / "damaged", i % 2 == 0);
    } catch (const FileError&) {
      ++refused;
    } catch (const UnsupportedError&) {
      ++refused;
    } catch (const OutOfMemoryError&) {
      ++refused;
    } catch (const std::exception& error) {
      ADD_FAILURE() << i << ": " << error.what() << "\n" << graph;
      break;
    }
  }
  EXPECT_GT(refused, kCount / 4);
}

INSTANTIATE_TEST_SUITE_P(All, Hostile, ::testing::ValuesIn(kinds()),
                         [](const auto& info) { return info.param.name; });

/// The graph of a file with a part of its text replaced.
std::string replaced(std::string text, const std::string& from,
                     const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) ADD_FAILURE() << from << " is not in " << text;
  return text.replace(at, from.size(), to);
}

class HostileText : public ::testing::Test {
 protected:
  HostileText() {
    kinds().front().build().training.export_graph(folder_ / "net");
    file_.emplace(folder_ / "net");
  }
  template <class ErrorType>
  ErrorInfo load(const std::string& from, const std::string& to) {
    file_->write(folder_ / "other", replaced(file_->graph(), from, to));
    return error_of<ErrorType>(
        [&] { TrainingGraph::load(folder_ / "other", test_device()); });
  }

  const Folder folder_;
  std::optional<File> file_;
};

TEST_F(HostileText, LaterVersionsAreListed) {
  const ErrorInfo info =
      load<UnsupportedError>("\"matmul\":1", "\"matmul\":2,\"warp\":1");
  EXPECT_NE(info.got.find("matmul (version 2)"), std::string::npos) << info.got;
  EXPECT_NE(info.got.find("warp (version 1)"), std::string::npos) << info.got;
  load<UnsupportedError>("\"format\":1,\"given", "\"format\":2,\"given");
}

TEST_F(HostileText, SaysWhatIsWrong) {
  const ErrorInfo info =
      load<FileError>("\"op\":\"dropout\"", "\"op\":\"compare\"");
  EXPECT_NE(info.what.find("its graph cannot be used"), std::string::npos);
  load<FileError>("\"rate\":0.25", "\"rate\":1.5");
  load<FileError>("\"rate\":0.25", "\"ratio\":0.25");
  // Value 0 is an input.
  load<FileError>("\"result\":", "\"result\":0,\"before\":");
}

TEST_F(HostileText, CheckpointsHoldNoGraph) {
  kinds().front().build().training.save(folder_ / "state");
  const ErrorInfo info = error_of<FileError>(
      [&] { TrainingGraph::load(folder_ / "state", test_device()); });
  EXPECT_EQ(info.what, "the file holds no graph");
  error_of<FileError>([&] { TrainingGraph::load(folder_ / "nothing"); });
}

}  // namespace
}  // namespace traingraph
