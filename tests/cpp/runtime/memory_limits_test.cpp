// SPDX-License-Identifier: MIT
// A small convolution network under limits on the address space: it trains, or
// ends with an error of ours. TRAINGRAPH_MEMORY_LIMITS: how many limits.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <random>

#include "support/training.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TRAINGRAPH_HAS_SHADOW_MEMORY
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TRAINGRAPH_HAS_SHADOW_MEMORY
#endif
#endif

namespace traingraph {
namespace {

using namespace testing;

constexpr int kTrained = 0, kOutOfMemory = 3, kOtherError = 4;

std::size_t address_space() {
  std::size_t pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%zu", &pages) != 1) pages = 0;
  std::fclose(file);
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

void train() {
  constexpr std::int64_t kBatch = 8, kChannels = 16, kSize = 24;
  Tensor x({{kBatch, 3, kSize, kSize}}, "x");
  Tensor label({{kBatch, kChannels, kSize, kSize}}, "label");
  Graph graph;
  Tensor y = x;
  for (const std::int64_t in : {std::int64_t{3}, kChannels, kChannels}) {
    y = graph.node(std::make_shared<layers::Convolution>(ConvolutionDescriptor{
                       .kernel_size = {3, 3},
                       .input_feature_channel_count = in,
                       .output_feature_channel_count = kChannels,
                       .padding_policy = PaddingPolicy::Same}),
                   y);
    y = graph.node(std::make_shared<layers::ReLU>(), y);
  }
  TrainingGraph t({graph}, std::make_shared<losses::MeanSquaredError>(),
                  sgd(0.1f));
  t.add_inputs({{"x", x}}, {{"label", label}});
  t.compile(test_device());
  const Floats data(x.shape().num_elements(), 0.5f);
  const Floats labels(label.shape().num_elements(), 0.25f);
  for (int step = 0; step < 3; ++step) {
    t.execute({{"x", view(data)}}, {{"label", view(labels)}}, {},
              {.synchronous = step == 1})
        .wait();
  }
}

[[noreturn]] void train_within(std::size_t room) {
  const rlimit limit{address_space() + room, RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &limit);
  int code = kTrained;
  try {
    train();
  } catch (const OutOfMemoryError&) {
    code = kOutOfMemory;
  } catch (const std::bad_alloc&) {
    code = kOutOfMemory;
  } catch (const DeviceError&) {
    code = kOutOfMemory;  // a thread that has no room for its stack
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    code = kOtherError;
  }
  // No destructors run: whether they can is not the question here.
  std::_Exit(code);
}

TEST(MemoryLimitsDeathTest, EndInTypedErrors) {
#ifdef TRAINGRAPH_HAS_SHADOW_MEMORY
  GTEST_SKIP() << "a sanitizer reserves address space of its own";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // A thread pool whose threads find no room ends the process inside libgomp.
  setenv("OMP_NUM_THREADS", "1", /*overwrite=*/1);
  const char* text = std::getenv("TRAINGRAPH_MEMORY_LIMITS");
  const int count = text ? std::atoi(text) : 12;
  std::mt19937 random(7);
  for (int i = 0; i < count; ++i) {
    // The limit is up to 192 MiB more than the process has at its start.
    const std::size_t room = random() % (std::size_t{192} << 20);
    EXPECT_EXIT(
        train_within(room),
        [](int status) {
          return WIFEXITED(status) && WEXITSTATUS(status) <= kOutOfMemory;
        },
        "")
        << "room for " << room << " bytes";
  }
}

}  // namespace
}  // namespace traingraph
