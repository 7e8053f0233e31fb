// SPDX-License-Identifier: MIT
// Thousands of damaged files: each is taken or ends in an Error, and what is
// refused has changed nothing.
#include <gtest/gtest.h>

#include <random>

#include "checkpoint/checkpoint_fixture.h"
#include "runtime/checkpoint/header_json.h"
#include "runtime/session/training_state.h"

namespace traingraph {
namespace {

using namespace testing;

class Damage {
 public:
  Damage(std::string bytes, unsigned seed)
      : bytes_(std::move(bytes)), random_(seed) {
    for (int i = 0; i < 8; ++i) {
      header_ |= std::size_t{static_cast<unsigned char>(bytes_[i])} << (8 * i);
    }
  }

  std::string next() {
    std::string bytes = bytes_;
    for (int n = below(3) + 1; n > 0 && bytes.size() > 16; --n) damage(bytes);
    return bytes;
  }

 private:
  std::size_t below(std::size_t count) { return random_() % count; }
  void damage(std::string& bytes) {
    const std::size_t end = std::min(bytes.size(), 8 + header_);
    const std::size_t at = below(end);
    switch (below(7)) {
      case 0:  // a byte of length or header
        bytes[at] = static_cast<char>(random_());
        break;
      case 1:  // a digit, so that numbers change
        for (std::size_t i = at; i < end; ++i) {
          if (bytes[i] < '0' || bytes[i] > '9') continue;
          bytes[i] = static_cast<char>('0' + below(10));
          break;
        }
        break;
      case 2: {  // a word of the format
        static const char* const words[] = {"null",
                                            "-1",
                                            "{}",
                                            "[]",
                                            "\"\"",
                                            "18446744073709551615",
                                            "1e99",
                                            "\"F32\"",
                                            "\"shape\"",
                                            "\"dtype\"",
                                            "\"__metadata__\"",
                                            ",",
                                            "}"};
        bytes.insert(at, words[below(std::size(words))]);
        break;
      }
      case 3:
        bytes.resize(below(bytes.size()) + 9);
        break;
      case 4:
        bytes.append(below(40) + 1, '\0');
        break;
      case 5:  // a piece twice
        bytes.insert(at, bytes.substr(at, below(60) + 1));
        break;
      default:
        bytes.erase(at, below(20) + 1);
    }
    // Often the length is right, so that what comes behind it is looked at.
    const bool keeps_length = below(4) == 0;
    if (keeps_length || bytes.size() < 16) return;
    const std::size_t data = bytes_.size() - 8 - header_;
    if (bytes.size() < data + 8) return;
    const std::size_t length = bytes.size() - 8 - data;
    for (int i = 0; i < 8; ++i) {
      bytes[i] = static_cast<char>(length >> (8 * i) & 0xff);
    }
  }

  std::string bytes_;
  std::mt19937 random_;
  std::size_t header_ = 0;
};

TEST(Fuzz, DamagedFiles) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const Folder folder;
  Network net;
  net.steps(0, 2);
  net.training->save(folder / "net.safetensors", {{"epoch", "3"}});
  const auto before = net.values();
  Damage damage(bytes_of(folder / "net.safetensors"), seed);
  int refused = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string bytes = damage.next();
    write_bytes(folder / "damaged", bytes);
    try {
      // Most are only read: devices take longer than the rest.
      const Header header =
          read_header(InputFile("restore", folder / "damaged"));
      const auto own = header.metadata.find(kOwnMetadata);
      TrainingState state;
      if (own != header.metadata.end()) {
        parse_training_state(own->second, state);
      }
      if (i % 10 != 0) continue;
      net.training->restore(folder / "damaged", /*strict=*/i % 20 == 0);
      net.training->restore(folder / "net.safetensors");
    } catch (const Error&) {
      ++refused;
    }  // anything else fails the test
    if (i % 10 == 0) {
      ASSERT_EQ(net.values(), before) << i;
    }
  }
  ASSERT_EQ(net.values(), before);
  EXPECT_EQ(net.training->random_step(), 2u);
  EXPECT_EQ(net.optimizer->time_step(), 3u);
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 4000);
}

}  // namespace
}  // namespace traingraph
