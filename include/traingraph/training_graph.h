// SPDX-License-Identifier: MIT
// TrainingGraph and InferenceGraph: graphs that compile for a device and run.
//
//   declare (add_inputs, add_outputs, stop_gradient ...) -> compile -> [link]
//   -> execute, or execute_forward, execute_gradient, execute_optimizer_update
//
// Calls may come from any thread; executions of one graph run in call order.
//
// Data that an execution is given counts for that call alone. What is not given
// is what bind_and_write_data() bound last, or the host data of the tensor; a
// call that has neither throws InvalidArgument naming the tensor.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traingraph/artefact.h"
#include "traingraph/checkpoint.h"
#include "traingraph/data_parallel.h"
#include "traingraph/enums.h"
#include "traingraph/execution.h"
#include "traingraph/graph.h"
#include "traingraph/graph_listing.h"
#include "traingraph/insight.h"
#include "traingraph/losses.h"
#include "traingraph/memory.h"
#include "traingraph/optimizers.h"
#include "traingraph/training_losses.h"

namespace traingraph {

struct Session;  // everything behind a compiled graph;
                 // src/runtime/session/session.h

/// A declaration maps names to tensors.
using TensorMap = std::map<std::string, Tensor>;

/// An execution gets host memory by name.
struct NamedData {
  std::string_view name;
  TensorData data;
};

/// A view of NamedData; allocates nothing.
class DataList {
 public:
  DataList() = default;
  DataList(std::initializer_list<NamedData> list)
      : data_(list.begin(), list.size()) {}
  template <std::size_t N>
  DataList(const NamedData (&list)[N]) : data_(list, N) {}
  DataList(std::span<const NamedData> data) : data_(data) {}
  DataList(const std::vector<NamedData>& data) : data_(data) {}
  const NamedData* begin() const { return data_.data(); }
  const NamedData* end() const { return data_.data() + data_.size(); }
  std::size_t size() const { return data_.size(); }
  bool empty() const { return data_.empty(); }

 private:
  std::span<const NamedData> data_;
};

struct CompileOptions {
  /// Results and gradients of layers with is_debugging_enabled are readable
  /// after each execution; implies disable_layer_fusion.
  bool debug_layers = false;
  bool disable_layer_fusion = false;
  /// The graph will be joined with others by link().
  bool link_graphs = false;
  /// Computes also the gradients of inputs that only have input tensors as
  /// sources.
  bool compute_all_gradients = false;
  /// Training graphs: execute_gradient() can add gradients up, and has memory
  /// for that, as many floats as the trained parameters have. So have graphs
  /// that are linked, without it.
  bool accumulate_gradients = false;
  /// The precision says what is computed and stored in 16 bits; see
  /// docs/precision.md. Throws UnsupportedError where the device has no such
  /// products.
  Precision precision = Precision::Float32;
  /// Off: every buffer of an arena gets its own bytes.
  bool reuse_memory = true;
  /// Fills freed ranges with NaN after each unit (slow; finds planner bugs).
  bool poison_memory = false;
  /// GPU: work is cut into pieces of at most so many milliseconds, estimated
  /// for the slowest supported GPU, so that few graphs are cut at all; macOS
  /// ends work that keeps the display waiting. A cut costs memory: what crosses
  /// it is stored. 0: each phase, or the whole step, is one piece.
  double max_gpu_ms = 500;
  /// Plans of smaller batches than the compiled one take at most this memory of
  /// the host. Each is made when a batch of its size first runs, in less than
  /// the time of a step; where they take more, as estimated, those that ran
  /// longest ago make room (Report::batch_plans). The newest is always kept.
  std::size_t batch_plans_bytes = std::size_t{1} << 30;
  /// Runs every op on this device as well, with the same operands, and fails
  /// an execution with a DeviceError that names the first tensor of floats that
  /// differs by more than `verify_tolerance` times the largest magnitude in
  /// it. Slow; memory is not reused.
  std::optional<Device> verify = std::nullopt;
  /// The default is 1e-3, and 8 units of rounding where 16 bits are mixed in.
  std::optional<double> verify_tolerance = std::nullopt;
  /// Training graphs on the CPU. compile() then waits for all processes, and
  /// gives them the parameters, optimizer state and seed of rank 0.
  DataParallel data_parallel = {};
};

/// A gradient where it lies on the device.
struct GradientView {
  TensorDescriptor descriptor;
  std::span<std::byte> data;    // empty: there is none
  std::shared_ptr<void> owner;  // keeps the memory alive
};

using CompletionHandler = std::function<void(const Execution&)>;

struct ExecuteOptions {
  /// Samples in this run, 1 to the compiled batch. 0: as many as the data of
  /// the call has, where that has a shape (TensorData::descriptor; spans and
  /// vectors have none), else the compiled batch.
  std::int64_t batch_size = 0;
  /// The data of this call is ignored: it runs on what is bound.
  bool skip_writing_input_data_to_device = false;
  /// Returns after the work (and its completion handler) is over, and throws
  /// its error.
  bool synchronous = false;
  bool profiling = false;
  /// Runs the forward phase in inference form (dropout off, running
  /// statistics). Bound labels count when the call is given no data at all.
  bool forward_for_inference = false;
  bool per_layer_profiling = false;
  /// execute_gradient() reads this, with CompileOptions::accumulate_gradients.
  /// A pass that fails fails all that add to it, and the update: begin anew.
  GradientAccumulation accumulate = GradientAccumulation::None;
  CompletionHandler completion_handler = {};
  /// These host buffers receive declared outputs; they must live until
  /// completion.
  DataList outputs_data = {};
};

/// CompiledGraph is what TrainingGraph and InferenceGraph have in common.
class TRAINGRAPH_API CompiledGraph : public Graph {
 public:
  /// Declares what every execution needs data for. Throws InvalidArgument for
  /// duplicate names and tensors no node uses, StateError after compile.
  void add_inputs(const TensorMap& inputs, const TensorMap& loss_labels = {},
                  const TensorMap& loss_label_weights = {});
  /// Declares what each execution returns.
  void add_outputs(const TensorMap& outputs);

  /// The layers of the graph objects and of its own nodes, each once. A graph
  /// that was loaded has none.
  std::vector<LayerPtr> layers() const;

  /// These return what was declared.
  TensorMap inputs() const;
  TensorMap loss_labels() const;
  TensorMap loss_label_weights() const;
  TensorMap outputs() const;

  /// Plans memory and creates all that the device needs; allocates nothing, but
  /// among ranks. `constants`: input tensors whose host data never changes.
  /// Throws UnsupportedError naming the layer, StateError, InvalidArgument.
  void compile(const Device& device, const CompileOptions& options = {},
               const TensorMap& input_tensors = {},
               DataList input_tensors_data = {});
  bool is_compiled() const;
  /// 1 per compile(), 1 per batch size that is new, or has no plan any more
  /// (CompileOptions::batch_plans_bytes).
  int compile_count() const;
  /// Samples of an execution that is not told otherwise: the smallest size on a
  /// batch axis of what was declared; 0: nothing varies with the batch. Throws
  /// StateError before compile.
  std::int64_t batch_size() const;

  /// Binds copies of the data, in host memory, until they are bound anew; each
  /// execution that is not given data of its own has them on the device. Names
  /// are those of `inputs` (user gradients, say) or else of the declared inputs
  /// and labels. Bound samples serve batches of up to as many; 0 is all.
  void bind_and_write_data(DataList inputs_data, const TensorMap& inputs = {},
                           std::int64_t batch_size = 0,
                           bool synchronous = false);

  /// Exact bytes; see memory.h. Throws StateError before compile.
  MemoryReport memory() const;
  /// Device bytes that this graph will have after a first execute() when it is
  /// compiled for `batch_size`, by its plan; 0: as it is compiled. Allocates
  /// nothing. Throws UnsupportedError when the graph cannot follow another
  /// batch size, ShapeError when there is no such memory, StateError.
  std::size_t required_bytes(std::int64_t batch_size = 0) const;
  bool fits(std::size_t device_bytes, std::int64_t batch_size = 0) const;
  /// The largest batch size that fits, whatever it is compiled for; 0: none. No
  /// larger one than 2^24 is looked for.
  /// The compiled one or none when the graph cannot follow another.
  std::int64_t largest_batch(std::size_t device_bytes) const;
  /// Bytes of intermediate tensors on the device: of the arenas in use, or of
  /// the main plan before the first execution; 0 before compile.
  std::size_t device_memory_size() const;
  /// Waits until every execution that was enqueued before is over.
  void synchronize() const;
  /// Copies all parameters and running statistics from the device to the host.
  void synchronize_updates();

  // State: parameters, running statistics and, of training graphs, the
  // optimizer's buffers and all else that the next step depends on. Each of
  // these calls comes after the executions enqueued before it and before those
  // of any thread after it, on this graph and on graphs it is linked with;
  // other training graphs with the same parameters must not run meanwhile. What
  // separate phases have left for the next one is no state.

  /// Writes one safetensors file, whole or not at all: whatever happens, `path`
  /// is the old file or the new one. Keys of `metadata` are the user's;
  /// "traingraph" is taken. `trained_only`: without parameters that no
  /// optimizer trains, for a file to restore with strict = false over those of
  /// another one. Throws StateError before compile, InvalidArgument for names
  /// that are no names in a file and for trained_only of an inference graph,
  /// FileError.
  void save(const std::filesystem::path& path, const Metadata& metadata = {},
            bool trained_only = false) const;
  /// Continues from a file bit for bit; inference graphs take parameters and
  /// statistics alone. Nothing changes unless the whole file is sound and, when
  /// `strict`, fits: InvalidArgument, ShapeError or DTypeError say what does
  /// not. Else what fits is taken. Throws StateError before compile, FileError.
  RestoreReport restore(const std::filesystem::path& path, bool strict = true);

  /// Writes one file with the graph, what it was compiled with and, if asked
  /// for, its state: load() needs nothing else. Else as save().
  void export_graph(const std::filesystem::path& path,
                    const ExportOptions& options = {}) const;
  /// A tensor by its name ("fc.weights"), as state_tensors() and errors have
  /// it. Throws InvalidArgument, listing names that are near, StateError.
  Tensor tensor(std::string_view name) const;

  /// Names and descriptors of the state, in the order of a file; optimizer's
  /// buffers on request. Throws StateError before compile.
  std::vector<StateTensor> state_tensors(bool with_optimizer = false) const;
  /// Copies tensors of the state, all of one moment, into the user's memory.
  /// Throws InvalidArgument for unknown names, ShapeError, DTypeError.
  void read_state_dict(DataList into) const;
  /// Gives tensors of the state new values; nothing but tensors changes. As
  /// restore(); buffers of the optimizer may be left out, all together.
  RestoreReport load_state_dict(DataList from, bool strict = true);

  /// The forward ops in inference form, as data; see graph_listing.h. Throws
  /// StateError before compile.
  GraphListing listing() const;
  /// Formats the plans as text: units in order with offsets and lifetimes.
  std::string plan_description() const;
  /// Tells what execute() will do, by layer and by unit, and what lies where in
  /// its arena; see insight.h. Runs nothing. Throws StateError before compile.
  Report report() const;
  /// Tells what the device does otherwise than compile() was asked to: the
  /// first of Report::notes, without the work for the rest. Throws StateError
  /// before compile.
  std::vector<std::string> notes() const;
  /// The last runs that had per_layer_profiling and the batch size of the very
  /// last, as many as there are of up to 64: each one execution, or a forward
  /// with the gradient pass and the update that followed it. Waits for the last
  /// and rethrows its error. Throws StateError when there was none since
  /// compile.
  Profile profile(int runs = 1) const;

  std::optional<Device> device() const override;
  std::string summarized_dot_description() const override;

 protected:
  explicit CompiledGraph(std::shared_ptr<Session> session);
  std::shared_ptr<Session> session_;
};

class TRAINGRAPH_API InferenceGraph : public CompiledGraph {
 public:
  explicit InferenceGraph(const std::vector<Graph>& graph_objects);
  /// Reads what export_graph() of an inference graph or of a training graph
  /// wrote, and compiles it for `device`. Throws FileError, UnsupportedError.
  static InferenceGraph load(const std::filesystem::path& path,
                             const Device& device = Device(),
                             const LoadOptions& options = {});
  void link(const std::vector<InferenceGraph>& graphs);
  Execution execute(DataList inputs_data, const ExecuteOptions& options = {});
  Execution execute(DataList inputs_data, DataList loss_labels_data,
                    DataList loss_label_weights_data,
                    const ExecuteOptions& options = {});
};

/// A group says what the optimizer does differently for some parameters; see
/// set_parameter_groups().
struct ParameterGroup {
  std::vector<Tensor> parameters;
  /// Multiplies the optimizer's rate, and AdamW's decay with it; 0 or more.
  float lr_scale = 1;
  /// Replaces the optimizer's regularization_scale: of L1 and L2, or AdamW's
  /// decay; 0 or more. InvalidArgument by compile() when the optimizer has
  /// none.
  std::optional<float> weight_decay = std::nullopt;
};

class TRAINGRAPH_API TrainingGraph : public CompiledGraph {
 public:
  /// `loss`: a layer, which is applied to the last result of the last graph
  /// object (compile() refuses another that nothing reads, but outputs), or
  /// results that are to be minimized; without it losses are nodes, or
  /// gradients come from the user. Throws InvalidArgument for what is no
  /// result of a node of these graphs, DTypeError for one that is no float.
  explicit TrainingGraph(const std::vector<Graph>& graph_objects,
                         const TrainingLosses& loss = {},
                         OptimizerPtr optimizer = nullptr);
  /// Reads what export_graph() of a training graph wrote, and compiles it for
  /// `device`; training goes on bit for bit. Throws FileError,
  /// UnsupportedError.
  static TrainingGraph load(const std::filesystem::path& path,
                            const Device& device = Device(),
                            const LoadOptions& options = {});

  OptimizerPtr optimizer() const;
  void stop_gradient(const std::vector<Tensor>& tensors);
  /// Input tensors that the optimizer trains as well.
  void set_training_tensor_parameters(std::vector<TensorParameter> parameters);
  /// Replaces the groups; of several with one parameter the last one counts.
  /// Whichever optimizer is compiled has them. Throws InvalidArgument,
  /// StateError after compile.
  void set_parameter_groups(std::vector<ParameterGroup> groups);
  /// The gradient of `parameter` is `gradient`, a result of this shape of a
  /// node of the graph, and not what autodiff finds. Throws InvalidArgument,
  /// ShapeError; StateError after compile.
  void set_gradient(const Tensor& parameter, const Tensor& gradient);
  /// A tensor to write the gradient of `tensor`, a result of a layer, into;
  /// it is added to what the graph itself contributes.
  Tensor allocate_user_gradient(const Tensor& tensor);
  /// Adds or replaces the optimizer; slots are created zeroed.
  void compile_optimizer(OptimizerPtr optimizer);
  /// Joins sub-graphs compiled with link_graphs, this one being the first in
  /// forward order. Tensors in several of them share one device buffer. Graphs
  /// that read results of others run the compiled batch size only. A graph's
  /// forward comes after those of the graphs it reads, its gradient pass after
  /// those of the graphs that read it; else StateError.
  void link(const std::vector<TrainingGraph>& graphs);

  /// Runs forward, loss, gradient and, with an optimizer, update.
  Execution execute(DataList inputs_data, DataList loss_labels_data = {},
                    DataList loss_label_weights_data = {},
                    const ExecuteOptions& options = {});
  Execution execute_forward(DataList inputs_data, DataList loss_labels_data,
                            DataList loss_label_weights_data = {},
                            const ExecuteOptions& options = {});
  /// These run on data that was bound before.
  Execution execute_forward(const ExecuteOptions& options = {});
  Execution execute_gradient(const ExecuteOptions& options = {});
  Execution execute_optimizer_update(const ExecuteOptions& options = {});

  /// Gradient of an input tensor; empty Tensor when it is not computed. Read
  /// its data() after synchronize_data().
  Tensor gradient_tensor(const Tensor& input) const;
  /// Gradients of the layer's results, which its gradient reads.
  std::vector<Tensor> incoming_gradients(const Layer& layer) const;
  /// Gradients of the layer's sources, which its gradient writes.
  std::vector<Tensor> outgoing_gradients(const Layer& layer) const;
  /// ML Compute's name of incoming_gradients(): the sources of the gradient.
  std::vector<Tensor> source_gradient_tensors(const Layer& layer) const {
    return incoming_gradients(layer);
  }
  /// ML Compute's name of outgoing_gradients(): the results of the gradient.
  std::vector<Tensor> result_gradient_tensors(const Layer& layer) const {
    return outgoing_gradients(layer);
  }
  /// The raw gradient of a parameter on the device, writable between
  /// execute_gradient and execute_optimizer_update; waits for work in flight.
  /// Valid until the next gradient pass, of any batch size; the memory itself
  /// lives as long as the graph's compilation or what `owner` then points to.
  /// UnsupportedError where the host cannot see the device's memory: there
  /// gradient_data() and set_gradient_data() copy. DTypeError when it is not
  /// float32: gradient_view() says what it is.
  std::span<float> gradient(const Tensor& parameter,
                            std::shared_ptr<void>* owner = nullptr) const&;
  std::span<float> gradient(const Tensor& parameter,
                            std::shared_ptr<void>* owner = nullptr) const&& =
      delete;  // keep the graph
  /// All parameter gradients as one block, in parameter order; each begins at
  /// a multiple of the device's alignment, zeros fill the gaps.
  std::span<float> gradients(std::shared_ptr<void>* owner = nullptr) const&;
  std::span<float> gradients(std::shared_ptr<void>* owner = nullptr) const&& =
      delete;
  /// Views carry the type as well; owner is always set.
  GradientView gradient_view(const Tensor& parameter) const;
  GradientView gradients_view() const;
  /// Copies of what gradient() shows, on every device.
  std::vector<float> gradient_data(const Tensor& parameter) const;
  void set_gradient_data(const Tensor& parameter,
                         std::span<const float> values);
  /// ML Compute's gradientDataForParameter: the same for a layer's own.
  std::vector<float> gradient_data(const Tensor& parameter,
                                   const Layer& layer) const;
  /// Lists the trained parameters in order, which is the layout of gradients().
  std::vector<Tensor> parameters() const;
  /// Copies optimizer state for `parameter` to the device; see Tensor.
  void bind_optimizer_data(
      std::span<const TensorData> data, const Tensor& parameter,
      std::span<const TensorOptimizerDeviceData> device_data = {});
  /// Number of forward passes in training form so far; dropout depends on it.
  std::uint64_t random_step() const;
  void set_random_step(std::uint64_t step);
  /// Losses are multiplied by this, with Precision::MixedFloat16; gradients
  /// that are read, or written, are without it. Starts at 65536, doubles after
  /// 2000 updates in a row, and halves when a gradient is not finite: then the
  /// update changes nothing and is not counted by Adam. Waits for work in
  /// flight. StateError for graphs that have none.
  float loss_scale() const;
  /// Takes a power of two from 2^-24 to 2^24; else throws InvalidArgument.
  void set_loss_scale(float factor);
  /// Counts the updates that changed nothing since compile().
  std::int64_t skipped_steps() const;
};

}  // namespace traingraph
