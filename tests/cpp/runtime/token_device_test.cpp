// SPDX-License-Identifier: MIT
// Memory that the host cannot address: what reaches it, and in which order.
#include "support/token_device.h"

#include <gtest/gtest.h>

#include "runtime/device/blocking_submission.h"
#include "runtime/memory/arena.h"
#include "runtime/memory/transfer.h"
#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

class TokenDevice : public ::testing::Test {
 protected:
  Floats download(Location from, std::size_t count) {
    Floats values(count);
    context.download(from, std::as_writable_bytes(std::span(values)));
    return values;
  }
  DeviceContext& context = *token_context();
  const std::shared_ptr<DeviceBuffer> buffer = context.allocate(256, "token");
  const Floats data = random_floats(8, 1), other = random_floats(8, 2);
};

TEST_F(TokenDevice, HasNoViews) {
  EXPECT_EQ(buffer->size_bytes(), 256u);
  EXPECT_EQ(context.host_view({buffer.get(), 0}), nullptr);
}

TEST_F(TokenDevice, MemoryStartsAsZerosAndKeepsWhatIsUploaded) {
  EXPECT_EQ(download({buffer.get(), 0}, 64), Floats(64, 0.0f));
  context.upload(std::as_bytes(std::span(data)), {buffer.get(), 64});
  EXPECT_EQ(download({buffer.get(), 64}, 8), data);
  EXPECT_EQ(download({buffer.get(), 0}, 16), Floats(16, 0.0f));
  EXPECT_EQ(download({buffer.get(), 96}, 40), Floats(40, 0.0f));
}

TEST_F(TokenDevice, NothingIsCopiedOfNothing) {
  context.upload({}, {});
  context.download({}, {});
}

TEST_F(TokenDevice, DownloadsSeeTheUploadsOfTheirSubmission) {
  const auto staging = context.allocate_staging(64, "staging");
  const std::span<float> floats(
      reinterpret_cast<float*>(staging->bytes().data()), 16);
  std::ranges::copy(data, floats.begin());
  const Upload up[] = {{{staging.get(), 0}, {buffer.get(), 32}, 32}};
  const Download down[] = {{{buffer.get(), 32}, {staging.get(), 32}, 32}};
  BlockingSubmission submission;
  submission.uploads = up;
  submission.downloads = down;
  submission.run(context);
  EXPECT_EQ(Floats(floats.begin() + 8, floats.end()), data);
}

TEST_F(TokenDevice, TransfersReadAndWrite) {
  ArenaGroup group(token_context(), "parameters");
  const Tensor tensor({{8}}, view(data), "tensor");
  const auto storage = group.place(tensor.state());
  Floats got(8);
  const auto out = std::as_writable_bytes(std::span(got));
  read_device(*storage, tensor.descriptor(), out);
  EXPECT_EQ(got, data);
  write_device(*storage, std::as_bytes(std::span(other)));
  read_device(*storage, tensor.descriptor(), out);
  EXPECT_EQ(got, other);
}

}  // namespace
}  // namespace traingraph
