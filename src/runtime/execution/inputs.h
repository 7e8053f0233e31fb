// SPDX-License-Identifier: MIT
// Inputs: what the host supplies to a compiled graph. Data of a call counts for
// that call alone; what is bound stays on the host, is written to the device by
// the next execution that needs it there, and again when one with data of its
// own came between.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/tensor_state.h"
#include "runtime/execution/index_inputs.h"
#include "runtime/execution/participant.h"

namespace traingraph {

/// A result that linked graphs read: how often its graph has computed it since
/// the link began.
struct ExportedResult {
  std::atomic<std::uint64_t> runs{0};
};

struct Input {
  enum class Kind { Input, Label, LabelWeight, UserGradient, Constant };

  std::string name;  // empty for what is not declared
  Tensor tensor;
  TensorIndex index = kNoTensor;
  Kind kind = Kind::Input;
  /// A constant, or a parameter, which keeps its value between calls: no call
  /// may give it.
  bool is_constant = false;
  bool is_variable = false;

  // What is bound: `kept`, or the tensor's own host data.
  HostData kept;
  bool is_kept = false;
  std::uint64_t version = 0;  // of the tensor's host data when last looked at
  std::int64_t bound_batch = 0;  // samples; 0: nothing is bound
  /// The device holds what is bound, not what some call gave.
  bool is_on_device = false;
  /// What its elements may be, and whether those of what is bound are, as far
  /// as no lengths say which count.
  IndexRanges positions;
  bool is_in_range = false;

  std::uint64_t last_call = 0;     // that gave data for it
  std::uint64_t written_call = 0;  // that wrote what is bound to the device

  // Linked: it is read, or added up, where another graph leaves it.
  ExportedResult* source = nullptr;
  std::uint64_t seen_runs = 0;  // of the source, at the last forward
  bool is_upstream = false;     // a user gradient that linked graphs supply

  /// What is bound is a batch of that many samples, or begins with one.
  bool serves(std::int64_t batch) const;
  bool is_label() const {
    return kind == Kind::Label || kind == Kind::LabelWeight;
  }
};

class Inputs final : public Participant {
 public:
  /// After compile. What was bound stays bound, unless samples are counted
  /// otherwise now.
  void collect(const Compilation& main, const UserObjects& objects);

  /// What Tensor::set_data() has set since the last call is what is bound now.
  void notice_host_data();
  /// Does every label have data when a call gives none?
  bool has_bound_labels() const;
  /// The batch size of a call that asks for `batch`; 0: that of its data.
  /// Throws InvalidArgument, UnsupportedError, ShapeError naming the data.
  std::int64_t batch_of(const Call& call, bool skips_writing,
                        std::int64_t batch);
  std::int64_t batch_of_bound(DataList data, const TensorMap& named,
                              std::int64_t batch);
  /// Everything that can be wrong with the data of a call. Later functions are
  /// about that call.
  void check(const Call& call) override;
  void stage(const Call& call, HostWriter& writer,
             ExecutionState& state) override;
  /// What it wrote is on the device.
  void commit(const Call& call,
              const std::shared_ptr<ExecutionState>& state) noexcept override;
  void bind(DataList data, const TensorMap& named, std::int64_t batch);

  // For links.
  /// Linked graphs may write over each other's user gradients.
  void set_linked(bool is_linked) { is_linked_ = is_linked; }
  std::map<std::string, Input, std::less<>>& declared() { return declared_; }
  const std::map<std::string, Input, std::less<>>& declared() const {
    return declared_;
  }
  std::vector<Input>& undeclared() { return undeclared_; }

 private:
  template <class Action>
  void for_each_read(EntryPoint entry_point, const Action& action);
  void add_declared(const MergedGraph::Names& names, Input::Kind kind,
                    const Compilation& main, const UserObjects& objects);
  void add_constants(const Compilation& main, const UserObjects& objects);
  void add_positions();
  std::int64_t check_batch(const char* call, std::int64_t batch) const;
  Input* find(std::string_view name, Input::Kind kind);
  Input* find_bound(std::string_view name, const TensorMap& named);
  void check_list(const char* call, DataList data, Input::Kind kind,
                  std::int64_t batch);
  void check_input(const char* call, const NamedData& item, Input& input,
                   std::int64_t batch);
  void check_data(const char* call, const NamedData& item, const Tensor& tensor,
                  std::int64_t batch) const;
  Input& check_bound(const NamedData& item, const TensorMap& named,
                     std::int64_t batch);
  bool is_given(const Input& input, bool skips_writing) const;
  static void take_newest(Input& input);
  void require_bound_in_range(const char* call, Input& input);
  template <class Use>
  bool visit_data(const Call& call, const Input& input, const Use& use) const;
  bool read_row_lengths(const Call& call, TensorIndex index);
  void require_rows_in_range(const Call& call, const Input& input);
  void require_data(const Call& call);
  void write_list(HostWriter& writer, DataList data, Input::Kind kind,
                  std::int64_t batch);
  void write_bound(HostWriter& writer, Input& input);
  std::size_t bytes_of(const Tensor& tensor, std::int64_t batch) const;

  std::shared_ptr<const MergedGraph> graph_;
  std::int64_t batch_ = 0;  // the compiled one
  /// Inputs, labels and weights by name; user gradients and constants that are
  /// not declared; all by tensor.
  std::map<std::string, Input, std::less<>> declared_;
  std::vector<Input> undeclared_;
  std::unordered_map<const TensorState*, Input*> input_of_;
  std::uint64_t calls_ = 0;
  bool is_linked_ = false;
  std::vector<std::int32_t> row_lengths_;  // that check() looks at
};

}  // namespace traingraph
