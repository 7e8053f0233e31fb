// SPDX-License-Identifier: MIT
// Marks: work is cut where it is bound, and each submission of it calls back
// there. Who is not called back as often as it asked for notices.
#include <gtest/gtest.h>

#include <numeric>

#include "runtime/device/backend.h"
#include "runtime/wrapped_device.h"
#include "support/small_net.h"
#include "support/token_device.h"

namespace traingraph {
namespace {

using namespace testing;

/// x doubled three times, by a unit each.
struct Doubled {
  explicit Doubled(std::shared_ptr<DeviceContext> on) : context(std::move(on)) {
    values = {program.add_value(Role::Input, {{kSize}}, "x")};
    for (int i = 0; i < 3; ++i) {
      values.push_back(program
                           .append(OpKind::Binary,
                                   ArithmeticAttrs{ArithmeticOperation::Add},
                                   {values.back(), values.back()}, "add")
                           .front());
    }
    lowered =
        context->target().lower(program, {.kept = values, .fuses = false});
    for (const Storage& storage : lowered.storages) {
      buffers.push_back(context->allocate(storage.bytes, storage.name));
      places.push_back({buffers.back().get(), 0});
    }
    const Floats ones(kSize, 1.0f);
    context->upload(std::as_bytes(std::span(ones)), place(0));
  }

  std::unique_ptr<BoundUnits> bind(std::vector<Mark> marks, int num_units = 3) {
    std::vector<UnitId> units(num_units);
    std::iota(units.begin(), units.end(), 0);
    return context->bind(lowered, units, places, {}, marks);
  }
  Location place(int value) const {
    return places.at(lowered.storage_of.at(values.at(value)));
  }
  Floats read(int value) const {
    Floats floats(kSize);
    context->download(place(value), std::as_writable_bytes(std::span(floats)));
    return floats;
  }

  static constexpr std::int64_t kSize = 16;
  const std::shared_ptr<DeviceContext> context;
  Program program;
  std::vector<ValueId> values;
  LoweredProgram lowered;
  std::vector<std::shared_ptr<DeviceBuffer>> buffers;
  std::vector<Location> places;
};

/// What a submission was called back for: the mark, and what the host sees of
/// the results then.
struct Called : Submission {
  explicit Called(const Doubled& doubled) : doubled(doubled) {}
  std::exception_ptr blocked() noexcept override { return nullptr; }
  bool is_waiting() noexcept override { return false; }
  void reached(std::size_t mark) override {
    marks.push_back(mark);
    auto& now = seen.emplace_back();
    for (int i = 1; i < 4; ++i) {
      const std::byte* const at = doubled.context->host_view(doubled.place(i));
      now.push_back(at ? *reinterpret_cast<const float*>(at) : 0);
    }
    if (mark == throws_at) throw Thrown();
  }
  void finished(std::exception_ptr e, double) noexcept override { error = e; }
  void run() {
    doubled.context->submit(*this);
    doubled.context->drain();
    if (error) std::rethrow_exception(error);
  }

  struct Thrown {};
  const Doubled& doubled;
  std::size_t throws_at = std::string::npos;
  std::vector<std::size_t> marks;
  std::vector<Floats> seen;
  std::exception_ptr error;
};

class MarksOf : public ::testing::TestWithParam<const char*> {
 protected:
  static std::shared_ptr<DeviceContext> context() {
    const std::string name = GetParam();
    if (name == "token") return token_context();
    return find_device_context(name == "null" ? DeviceType::Null
                                              : DeviceType::CPU);
  }
  static bool computes() { return std::string(GetParam()) != "null"; }
  static bool sees() { return std::string(GetParam()) == "cpu"; }

  Doubled doubled{context()};
};

TEST_P(MarksOf, AreReachedWhereWorkWasCut) {
  const auto work = doubled.bind({{.before = 0, .writes = true},
                                  {.before = 1, .reads = true},
                                  {.before = 1, .reads = true, .writes = true},
                                  {.before = 3, .reads = true}});
  for (int run = 0; run < 2; ++run) {
    const Floats zeros(Doubled::kSize, 0.0f);
    for (int i = 1; i < 4; ++i) {
      doubled.context->upload(std::as_bytes(std::span(zeros)),
                              doubled.place(i));
    }
    Called called(doubled);
    called.work = work.get();
    called.run();
    EXPECT_EQ(called.marks, (std::vector<std::size_t>{0, 1, 2, 3}));
    EXPECT_EQ(called.marks.size(), work->marks().size());
    if (computes()) {
      EXPECT_EQ(doubled.read(3), Floats(Doubled::kSize, 8.0f));
    }
    if (!sees()) continue;
    EXPECT_EQ(called.seen[0], (Floats{0, 0, 0}));
    EXPECT_EQ(called.seen[1], (Floats{2, 0, 0}));
    EXPECT_EQ(called.seen[2], (Floats{2, 0, 0}));
    EXPECT_EQ(called.seen[3], (Floats{2, 4, 8}));
  }
}

TEST_P(MarksOf, AreReachedWithoutUnits) {
  const auto work = doubled.bind({{.before = 0}, {.before = 0}}, 0);
  Called called(doubled);
  called.work = work.get();
  called.run();
  EXPECT_EQ(called.marks, (std::vector<std::size_t>{0, 1}));
}

TEST_P(MarksOf, EndWorkWithWhatTheyThrow) {
  const auto work = doubled.bind({{.before = 1}, {.before = 2}});
  Called called(doubled);
  called.work = work.get();
  called.throws_at = 0;
  EXPECT_THROW(called.run(), Called::Thrown);
  EXPECT_EQ(called.marks, (std::vector<std::size_t>{0}));
  EXPECT_EQ(doubled.read(3), Floats(Doubled::kSize, 0.0f));
}

TEST_P(MarksOf, AreRefusedOutOfPlace) {
  for (const std::vector<Mark>& marks :
       {std::vector<Mark>{{.before = 4}}, std::vector<Mark>{{.before = -1}},
        std::vector<Mark>{{.before = 2}, {.before = 1}}}) {
    EXPECT_EQ(error_of<InternalError>([&] { doubled.bind(marks); }).what,
              "marks are out of place");
  }
}

INSTANTIATE_TEST_SUITE_P(All, MarksOf,
                         ::testing::Values("cpu", "null", "token"));

/// A step of two layers with a hook for each bucket of gradients, on a device
/// that binds other marks than it was given.
InternalError error_with(std::function<void(std::vector<Mark>&)> change) {
  const auto context = std::make_shared<WrappedContext>();
  SmallNetOptions options;
  options.compile.data_parallel = {.bucket_bytes = 100,
                                   .on_bucket = [](const GradientBucket&) {}};
  SmallNet net{Device(context), options};
  context->change_marks = std::move(change);
  try {
    net.step(0, 4).wait();
  } catch (const InternalError& error) {
    return error;
  }
  return InternalError(ErrorInfo{.what = "nothing was thrown"});
}

TEST(MissedMarks, AreNoticed) {
  EXPECT_EQ(error_with(nullptr).info().what, "nothing was thrown");
  const auto clear = [](std::vector<Mark>& marks) { marks.clear(); };
  EXPECT_EQ(error_with(clear).info().what,
            "the device has not reached all marks of its work");
  EXPECT_EQ(error_with(clear).got(), "0");
  const auto miss_last = [](std::vector<Mark>& marks) { marks.pop_back(); };
  EXPECT_EQ(error_with(miss_last).info().what,
            "the device has not reached all marks of its work");
  const auto reach_more = [](std::vector<Mark>& marks) {
    marks.push_back(marks.back());
  };
  EXPECT_EQ(error_with(reach_more).info().what,
            "the device has reached another mark of its work");
}

}  // namespace
}  // namespace traingraph
