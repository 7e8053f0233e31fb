// SPDX-License-Identifier: MIT
// Files that are not what they should be: each is refused for its own reason.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "checkpoint/checkpoint_fixture.h"
#include "runtime/checkpoint/header.h"

namespace traingraph {
namespace {

using namespace testing;

std::string file_of(const std::string& json, std::size_t data_bytes) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) {
    bytes += static_cast<char>(json.size() >> (8 * i) & 0xff);
  }
  return bytes + json + std::string(data_bytes, '\0');
}

/// Returns why the file is refused; "" when it is not.
std::string problem_of(const std::string& bytes) {
  const Folder folder;
  write_bytes(folder / "file", bytes);
  try {
    read_header(InputFile("restore", folder / "file"));
    return "";
  } catch (const FileError& error) {
    EXPECT_EQ(error.op(), "restore");
    EXPECT_EQ(error.node(), (folder / "file").string());
    return error.info().what;
  }
}

TEST(Format, WhatIsSoundIsRead) {
  EXPECT_EQ(problem_of(file_of("{}", 0)), "");
  EXPECT_EQ(problem_of(file_of("{}      ", 0)), "");
  EXPECT_EQ(problem_of(file_of(R"({"__metadata__":{"a":"b"}})", 0)), "");
  // Tensors may come in any order, with types that the library does not have,
  // and without elements.
  EXPECT_EQ(problem_of(file_of(
                R"({"a":{"dtype":"F64","shape":[],"data_offsets":[4,12]},
                    "b":{"shape":[2],"data_offsets":[0,4],"dtype":"U16"},
                    "c":{"dtype":"F32","shape":[0,3],"data_offsets":[12,12]}})",
                12)),
            "");
}

TEST(Format, WhatIsNotIsRefused) {
  const std::string a = R"("a":{"dtype":"F32","shape":[2],"data_offsets":)";
  const struct {
    std::string json;
    std::size_t data_bytes;
    std::string reason;
  } cases[] = {
      {"", 0, "no JSON object"},
      {"[]", 0, "no JSON object"},
      {" {}", 0, "no JSON object"},
      {"{", 0, "no JSON at byte"},
      {"{}{}", 0, "no JSON at byte"},
      {"{\"\xff\":1}", 0, "no JSON at byte"},
      {"{}", 1, "belong to no tensor"},
      {"{" + a + "[0,8]}}", 7, "behind the end of the file"},
      {"{" + a + "[0,8]}}", 9, "1 bytes at its end"},
      {"{" + a + "[8,0]}}", 8, "ends before it begins"},
      {"{" + a + "[0,4]}}", 4, "has 4 bytes, not the 8 of float32 (2)"},
      {"{" + a + "[1,9]}}", 9, "a gap before tensor \"a\""},
      {"{" + a + "[0]}}", 8, "other than two offsets"},
      {"{" + a + "[0,8,8]}}", 8, "other than two offsets"},
      {"{" + a + "[0,-8]}}", 8, "a negative number"},
      {"{" + a + "[0,8.0]}}", 8, "a number with a fraction"},
      {"{" + a + "[0,18446744073709551616]}}", 8, "a number with a fraction"},
      {"{" + a + "[0,18446744073709551615]}}", 8, "behind the end"},
      {"{" + a + "[[0],8]}}", 8, "a list where"},
      {"{" + a + "{}}}", 8, "an object"},
      {"{" + a + "null}}", 8, "null"},
      {"{" + a + "[0,8]}," + a + "[0,8]}}", 8, "\"a\" twice"},
      {"{" + a + "[0,8],\"dtype\":\"F32\"}}", 8, "\"dtype\" twice"},
      {"{" + a + "[0,8],\"more\":1}}", 8, "the unknown key \"more\""},
      {R"({"a":{"dtype":"F32","shape":[2]}})", 8, "lacks its type"},
      {R"({"a":{}})", 0, "lacks its type"},
      {R"({"a":1})", 0, "a number where"},
      {R"({"a":"b"})", 0, "text where"},
      {R"({"__metadata__":{"a":1}})", 0, "a number where"},
      {R"({"__metadata__":[]})", 0, "a list where"},
      {R"({"__metadata__":{"a":"b","a":"c"}})", 0, "\"a\" twice"},
      {R"({"a":{"dtype":"F33","shape":[],"data_offsets":[0,4]}})", 4,
       "the unknown type \"F33\""},
      {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],)"
       R"("data_offsets":[0,4]}})",
       4, "too large"},
      {"{" + a + "[0,8]},\"b\":{\"dtype\":\"U8\",\"shape\":[4]," +
           "\"data_offsets\":[4,8]}}",
       8, "overlaps"},
      {"{\"a\":" + std::string(100000, '['), 0, "a list where"},
  };
  for (const auto& [json, data_bytes, reason] : cases) {
    const std::string problem = problem_of(file_of(json, data_bytes));
    EXPECT_NE(problem.find(reason), std::string::npos)
        << json.substr(0, 200) << "\n  " << problem;
  }
  std::string many = R"({"a":{"dtype":"F32","shape":[1)";
  for (int i = 0; i < 100; ++i) many += ",1";
  EXPECT_NE(problem_of(file_of(many, 4)).find("too many numbers"),
            std::string::npos);
}

TEST(Format, SizesOfTheHeader) {
  EXPECT_NE(problem_of("").find("too short"), std::string::npos);
  EXPECT_NE(problem_of("\1\0\0").find("too short"), std::string::npos);
  EXPECT_NE(problem_of(std::string(8, '\xff')).find("header is too large"),
            std::string::npos);
  EXPECT_NE(problem_of(std::string("\3\0\0\0\0\0\0\0{}", 10))
                .find("header ends behind"),
            std::string::npos);
}

TEST(Format, OnlyFilesAreRead) {
  const Folder folder;
  Network net;
  error_of<FileError>([&] { net.training->restore(folder / "none"); });
  error_of<FileError>([&] { net.training->restore(folder.path()); });
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  error_of<FileError>([&] { net.training->restore(folder / "pipe"); });
  error_of<FileError>([&] { net.training->restore("/dev/zero"); });
  error_of<FileError>([&] { net.training->restore(""); });
  error_of<FileError>([&] { read_metadata(folder / "none"); });
}

TEST(Format, OwnMetadataIsChecked) {
  const Folder folder;
  Network net;
  net.steps(0, 2);
  net.training->save(folder / "net.safetensors");
  const std::string bytes = bytes_of(folder / "net.safetensors");
  const auto before = net.values();
  const std::pair<std::string, std::string> changes[] = {
      {R"(\"format\":1)", R"(\"format\":2)"},
      {R"(\"format\":1)", R"(\"formar\":1)"},
      {R"(\"time_step\":3)", R"(\"time_step\":0)"},
      {R"(\"time_step\":3)", R"(\"time_step\":"3)"},
      {R"(\"seed\":3)", R"(\"seed\":x)"},
      {R"(\"random_step\":2)", R"(\"random_step\":-)"},
      {R"(\"name\":\"adam\")", R"(\"name\":[\"ad\"])"},
      {R"(\"slots\":[)", R"(\"slots\":{)"}};
  for (const auto& [from, to] : changes) {
    std::string changed = bytes;
    const auto at = changed.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    write_bytes(folder / "changed", changed);
    error_of<FileError>([&] { net.training->restore(folder / "changed"); });
    error_of<FileError>(
        [&] { net.training->restore(folder / "changed", false); });
  }
  EXPECT_EQ(net.values(), before);

  // Another program wrote it: parameters can be had, steps cannot.
  std::string foreign = bytes;
  foreign.replace(foreign.find("\"traingraph\""), 12, "\"traingrapf\"");
  write_bytes(folder / "foreign", foreign);
  error_of<InvalidArgument>([&] { net.training->restore(folder / "foreign"); });
  const RestoreReport report =
      net.training->restore(folder / "foreign", /*strict=*/false);
  EXPECT_EQ(report.missing.size(), 1u);
  EXPECT_EQ(report.metadata.count("traingrapf"), 1u);
}

}  // namespace
}  // namespace traingraph
