// SPDX-License-Identifier: MIT
// FilterKernel: what a node becomes when a graph is made of it: something that
// turns pictures into pictures. Plain C++, for the arithmetic of filters.
//
// A new filter is
//  * a kernel: result_extent() when the result is not as large as the first
//    source (gradients: as the second, which is the forward source), window()
//    when a padding policy places it, run();
//  * for its gradient another kernel, derived from GradientKernel;
//  * a node class that overrides the methods of nodes.h.
//
// Encoding asks for extents and makes states; run() is called when the command
// buffer runs, once for all images of the batch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace emulator::mpsnn {

struct Extent {
  std::int64_t channels = 0, height = 0, width = 0;

  std::int64_t count() const { return channels * height * width; }
  bool operator==(const Extent&) const = default;
};

/// One image: channels, rows, columns; the last is the fastest.
struct Picture {
  Extent extent;
  std::vector<float> data;

  Picture() = default;
  explicit Picture(Extent e) : extent(e), data(e.count()) {}
  std::int64_t index(std::int64_t c, std::int64_t y, std::int64_t x) const {
    return (c * extent.height + y) * extent.width + x;
  }
  float& at(std::int64_t c, std::int64_t y, std::int64_t x) {
    return data[index(c, y, x)];
  }
  float at(std::int64_t c, std::int64_t y, std::int64_t x) const {
    return data[index(c, y, x)];
  }
};
using Pictures = std::vector<Picture>;

/// Values of MPSImageEdgeMode.
enum class EdgeMode { Zero, Clamp, Mirror, MirrorWithEdge, Constant };

struct Window {
  std::int64_t kernel_width = 1, kernel_height = 1;
  std::int64_t stride_x = 1, stride_y = 1;
  std::int64_t dilation_x = 1, dilation_y = 1;
  /// The result is larger than the source: a transposed convolution.
  bool is_reverse = false;

  std::int64_t extent_x() const { return (kernel_width - 1) * dilation_x + 1; }
  std::int64_t extent_y() const { return (kernel_height - 1) * dilation_y + 1; }
};

/// What the padding policy decided.
struct Placement {
  Extent result;
  /// The centre of the first window: it covers the source from
  /// offset - extent / 2 on.
  std::int64_t offset_x = 0, offset_y = 0;
  EdgeMode edge_mode = EdgeMode::Zero;
};

/// What the node's callback said when the filter was encoded: one number, or
/// the parts of a transform.
using Answer = std::vector<double>;

/// What a forward filter leaves for its gradients. Encoding fills in sources,
/// placement and answer; kernels derive what they need besides, make it in
/// make_state() and fill it in run().
struct FilterState {
  std::vector<Extent> sources;
  Placement placement;
  Answer answer;

  virtual ~FilterState() = default;
  /// The memory is used for something else from now on.
  virtual void poison() {}
  /// Managed buffers become visible to the host.
  virtual void synchronize() {}
};

/// What is known while a filter is encoded.
struct Sizes {
  std::vector<Extent> sources;
  /// The node's source states, for the first image.
  std::vector<const FilterState*> states;
};

struct FilterRun {
  /// Pictures are in the order of the node's sources. A gradient node has the
  /// gradient first, then the forward source (or what else it asked for).
  std::vector<const Pictures*> sources;
  /// The first index is the source state, the second the image. One object may
  /// stand for all images.
  std::vector<std::vector<FilterState*>> states;
  /// The states of the filter itself, by image; empty when no node asked for
  /// them.
  std::vector<FilterState*> own_states;
  Placement placement;
  Answer answer;
  /// Sized and zeroed.
  Pictures* result = nullptr;

  template <class State>
  State& state(std::size_t i, std::size_t image = 0) const {
    return static_cast<State&>(*states[i][image]);
  }
  /// The state is null when nobody asked for it.
  template <class State>
  State* own_state(std::size_t image = 0) const {
    return own_states.empty() ? nullptr
                              : static_cast<State*>(own_states[image]);
  }
};

/// encoding.h
struct Encoding;
struct EncodedImages;
struct StateRequest;

class FilterKernel {
 public:
  virtual ~FilterKernel() = default;

  /// Filters that a padding policy places; then only the channels of
  /// result_extent() count.
  virtual std::optional<Window> window() const { return std::nullopt; }
  virtual EdgeMode edge_mode() const { return EdgeMode::Zero; }
  /// May call refuse_filter.
  virtual Extent result_extent(const Sizes& sizes) const {
    return sizes.sources[0];
  }
  /// Instead of the padding policy, when a source state decides.
  virtual std::optional<Placement> placement(const Sizes&) const {
    return std::nullopt;
  }

  /// Asks the node's callback, if it has one.
  virtual Answer ask(const EncodedImages&) { return {}; }
  virtual std::shared_ptr<FilterState> make_state(const StateRequest&) {
    return std::make_shared<FilterState>();
  }
  /// Else one state is shared by the images of a batch.
  virtual bool has_state_per_image() const { return false; }
  /// A filter of the same graph reads the state (known when the graph is made).
  virtual void set_state_is_consumed(bool) {}

  virtual void run(FilterRun& run) = 0;

  /// It must run although nobody needs its result: it updates weights, or
  /// writes into a source state.
  virtual bool has_side_effects() const { return false; }
  /// How often encode_update() has callbacks decrement the source states' read
  /// count.
  virtual int num_updates() const { return 0; }
  /// The source states are read by the host afterwards.
  virtual bool keeps_states() const { return false; }
  /// This comes after run() was encoded.
  virtual void encode_update(const Encoding&) {}
  /// Reads the data source at once.
  virtual void reload() {}
};

/// Its sources are the gradient and the forward source.
class GradientKernel : public FilterKernel {
 public:
  Extent result_extent(const Sizes& sizes) const override {
    return sizes.sources[1];
  }
};

/// Raises NSInvalidArgumentException, as Apple's assertions abort.
[[noreturn]] void refuse_filter(const char* what, const std::string& why);
std::string to_string(const Extent& extent);

}  // namespace emulator::mpsnn
