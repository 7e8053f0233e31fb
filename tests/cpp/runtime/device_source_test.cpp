// SPDX-License-Identifier: MIT
// What a device is given from device memory: its own, somebody else's on it,
// and that of other devices.
#include <gtest/gtest.h>

#include <future>

#include "runtime/device/backend.h"
#include "runtime/device/blocking_submission.h"
#include "runtime/device/verifying_context.h"
#include "support/token_device.h"
#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

DeviceContext& context_of(const std::string& name) {
  if (name == "token") return *token_context();
  return *find_device_context(name == "null" ? DeviceType::Null
                                             : DeviceType::CPU);
}

/// Somebody else's floats.
DeviceSource source_of(const std::shared_ptr<Floats>& floats) {
  return {.address = floats->data(),
          .bytes = floats->size() * sizeof(float),
          .owner = floats};
}

struct Place {
  explicit Place(DeviceContext& context)
      : context(context), buffer(context.allocate(64, "place")) {}
  Location at(std::size_t offset = 0) const { return {buffer.get(), offset}; }
  Floats read(std::size_t count = 8) const {
    Floats values(count);
    context.download(at(), std::as_writable_bytes(std::span(values)));
    return values;
  }
  DeviceContext& context;
  std::shared_ptr<DeviceBuffer> buffer;
};

class DeviceSourceOf : public ::testing::TestWithParam<const char*> {
 protected:
  DeviceContext& context = context_of(GetParam());
  const Floats data = random_floats(8, 1);
  std::shared_ptr<Floats> floats = std::make_shared<Floats>(data);
};

struct Skipped : Submission {
  std::exception_ptr blocked() noexcept override {
    return std::make_exception_ptr(CancelledError("skipped"));
  }
  bool is_waiting() noexcept override { return false; }
  void finished(std::exception_ptr e, double) noexcept override { error = e; }
  std::exception_ptr error;
};

TEST_P(DeviceSourceOf, ADeviceIsCopiedEvenWhenTheRestIsSkipped) {
  const Place from(context), to(context);
  context.upload(std::as_bytes(std::span(data)), from.at(32));
  const Copy copies[] = {{from.at(32), to.at(), 32}};
  Skipped submission;
  submission.copies = copies;
  context.submit(submission);
  context.drain();
  EXPECT_TRUE(submission.error);
  EXPECT_EQ(to.read(), data);
}

TEST_P(DeviceSourceOf, TheSameDeviceIsCopiedThere) {
  const Place to(context);
  context.upload(context, source_of(floats), to.at());
  EXPECT_EQ(to.read(), data);
}

TEST_P(DeviceSourceOf, TheHostIsAView) {
  const Place to(context);
  context.upload(*Device::cpu().context(), source_of(floats), to.at());
  EXPECT_EQ(to.read(), data);
  const auto view = Device::cpu().context()->wrap(source_of(floats));
  EXPECT_EQ(Device::cpu().context()->host_view({view.get(), 0}),
            reinterpret_cast<std::byte*>(floats->data()));
  EXPECT_EQ(view->size_bytes(), 32u);
}

TEST_P(DeviceSourceOf, OthersIsKeptUntilItIsCopied) {
  const std::weak_ptr<Floats> alive = floats;
  std::shared_ptr<DeviceBuffer> buffer = context.wrap(source_of(floats));
  floats.reset();
  EXPECT_FALSE(alive.expired());
  const Place to(context);
  const Copy copies[] = {{{buffer.get(), 0}, to.at(), 32}};
  BlockingSubmission submission;
  submission.copies = copies;
  submission.run(context);
  EXPECT_EQ(to.read(), data);
  buffer.reset();
  EXPECT_TRUE(alive.expired());
}

TEST_P(DeviceSourceOf, NothingIsNotLookedAt) {
  context.upload(*Device::cpu().context(), {}, {});
}

INSTANTIATE_TEST_SUITE_P(All, DeviceSourceOf,
                         ::testing::Values("cpu", "null", "token"));

TEST(DeviceSource, IsWaitedFor) {
  DeviceContext& context = *token_context();
  const Floats data = random_floats(8, 2);
  const auto floats = std::make_shared<Floats>(8, 0.0f);
  const auto written = std::make_shared<TokenEvent>();
  DeviceSource source = source_of(floats);
  source.ready = written;
  const Place to(context);
  const auto upload = std::async(
      std::launch::async, [&] { context.upload(context, source, to.at()); });
  EXPECT_EQ(upload.wait_for(std::chrono::milliseconds(20)),
            std::future_status::timeout);
  *floats = data;
  written->is_over.count_down();
  upload.wait();
  EXPECT_EQ(to.read(), data);
}

TEST(DeviceSource, OfAnotherDeviceIsRefused) {
  const auto floats = std::make_shared<Floats>(8, 1.0f);
  const auto other = TokenDevice::make();
  for (DeviceContext* to :
       {Device::cpu().context().get(), Device::null().context().get(),
        static_cast<DeviceContext*>(other.get())}) {
    const Place place(*to);
    const ErrorInfo error = error_of<UnsupportedError>(
        [&] { to->upload(*token_context(), source_of(floats), place.at()); });
    EXPECT_EQ(error.op, "upload");
    EXPECT_NE(error.got.find("token"), std::string::npos) << error.got;
    EXPECT_NE(error.hint.find("to the host"), std::string::npos) << error.hint;
  }
}

TEST(DeviceSource, OfAVerifiedDeviceIsItsOwn) {
  const auto verified = make_verifying_context(
      token_context(), Device::cpu().context(), /*tolerance=*/0);
  const auto floats = std::make_shared<Floats>(random_floats(8, 3));
  const Place to(*verified);
  verified->upload(*token_context(), source_of(floats), to.at());
  EXPECT_EQ(to.read(), *floats);
  verified->drain();
}

}  // namespace
}  // namespace traingraph
