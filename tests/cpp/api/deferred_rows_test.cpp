// SPDX-License-Identifier: MIT
// Steps that leave rows of a table behind: whatever reads or writes the
// parameter or the optimizer's buffers finds the bits of updates of all rows.
// The three phases do these; so the same calls, with steps in phases, are the
// reference.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

constexpr std::int64_t kTokens = 40;

struct Table {
  std::int64_t count = 300, width = 21;
  std::int64_t padding_index = -1;
  bool divides = false;
};

/// Rows by tokens, summed squared error.
class Words {
 public:
  Words(const Table& table, OptimizerPtr optimizer, bool in_phases, int threads)
      : table_(table),
        optimizer_(std::move(optimizer)),
        in_phases_(in_phases),
        device_(Device::cpu(threads)) {
    EmbeddingDescriptor descriptor{
        .embedding_count = table.count,
        .embedding_dimension = table.width,
        .scales_gradient_by_frequency = table.divides};
    if (table.padding_index >= 0) {
      descriptor.padding_index = table.padding_index;
    }
    Floats start = random_floats(table.count * table.width, 1);
    // Zeros of both signs.
    for (std::size_t i = 0; i < start.size(); i += 7) {
      start[i] = i % 2 == 0 ? 0.0f : -0.0f;
    }
    layer_ = std::make_shared<layers::Embedding>(
        descriptor,
        EmbeddingOptions{
            .weights = Tensor({{table.count, table.width}}, view(start))});
    y_ = graph_.node(layer_, ids_);
    labels_ = random_floats(kTokens * table.width, 2);
    compile();
  }

  void compile() {
    t_.reset();
    t_ = make_graph(optimizer_);
  }
  void compile_again() { t_->compile(device_); }
  void destroy() { t_.reset(); }

  Execution step(std::int64_t num_tokens = kTokens) {
    draw_tokens();
    const ExecuteOptions options{.batch_size = num_tokens};
    const DataList data = inputs(num_tokens), labels = label_data(num_tokens);
    if (!in_phases_) return t_->execute(data, labels, {}, options);
    t_->execute_forward(data, labels, {}, options);
    t_->execute_gradient();
    return t_->execute_optimizer_update();
  }
  void step_of_another_graph() {
    if (!another_) another_ = make_graph(sgd(0.01f, 0.9f));
    draw_tokens();
    if (!in_phases_) {
      another_->execute(inputs(kTokens), label_data(kTokens));
      return;
    }
    another_->execute_forward(inputs(kTokens), label_data(kTokens));
    another_->execute_gradient();
    another_->execute_optimizer_update();
  }
  Execution phases() {
    draw_tokens();
    t_->execute_forward(inputs(kTokens), label_data(kTokens));
    t_->execute_gradient();
    return t_->execute_optimizer_update();
  }
  Floats loss_of_inference() {
    draw_tokens();
    const auto run = t_->execute(inputs(kTokens), label_data(kTokens), {},
                                 {.forward_for_inference = true});
    return floats_of(*run.result().result());
  }
  /// By a graph of its own.
  Floats look_up() {
    if (!inference_) {
      inference_.emplace(std::vector{graph_});
      inference_->add_inputs({{"ids", ids_}});
      inference_->compile(device_);
    }
    draw_tokens();
    return floats_of(*inference_->execute(inputs(kTokens)).result().result());
  }

  Tensor weights() const { return layer_->weights(); }
  std::vector<Floats> slots() const {
    weights().synchronize_optimizer_data();
    std::vector<Floats> result;
    for (const OptimizerData& slot : weights().optimizer_data()) {
      Floats values(slot.data.size() / sizeof(float));
      std::memcpy(values.data(), slot.data.data(), slot.data.size());
      result.push_back(std::move(values));
    }
    return result;
  }
  void bind_slots(unsigned seed) {
    std::vector<Floats> values;
    for (std::size_t i = slots().size(); i > 0; --i) {
      values.push_back(random_floats(table_.count * table_.width, seed));
      for (float& value : values.back()) value = std::abs(value);
    }
    std::vector<TensorData> data;
    for (const Floats& each : values) data.push_back(view(each));
    weights().bind_optimizer_data(data);
  }
  void set_rate(float rate) { optimizer_->set_learning_rate(rate); }
  const TrainingGraph& graph() const { return *t_; }

 private:
  using DataList = std::vector<NamedData>;

  TrainingGraph make_graph(const OptimizerPtr& optimizer) const {
    TrainingGraph t({graph_},
                    std::make_shared<losses::MeanSquaredError>(
                        LossDescriptor{.reduction_type = ReductionType::Sum}),
                    optimizer);
    t.add_inputs({{"ids", ids_}},
                 {{"label", Tensor({{kTokens, table_.width}}, "label")}});
    t.compile(device_);
    return t;
  }
  /// Few are frequent, most are not seen for long.
  void draw_tokens() {
    for (std::int32_t& token : tokens_) {
      const auto most = static_cast<std::int32_t>(table_.count);
      token = static_cast<std::int32_t>(engine_() % most);
      if (engine_() % 2 == 0) token %= 11;
    }
  }
  DataList inputs(std::int64_t num_tokens) const {
    return {{"ids", TensorData(static_cast<const void*>(tokens_.data()),
                               num_tokens * sizeof(std::int32_t))}};
  }
  DataList label_data(std::int64_t num_tokens) const {
    return {{"label", TensorData(std::span<const float>(
                          labels_.data(), num_tokens * table_.width))}};
  }

  const Table table_;
  const OptimizerPtr optimizer_;
  const bool in_phases_;
  const Device device_;
  std::mt19937 engine_{3};
  std::vector<std::int32_t> tokens_ = std::vector<std::int32_t>(kTokens);
  Floats labels_;
  Tensor ids_{{{kTokens}, DataType::Int32}, "ids"};
  Tensor y_;
  std::shared_ptr<layers::Embedding> layer_;
  Graph graph_;
  std::optional<TrainingGraph> t_, another_;
  std::optional<InferenceGraph> inference_;
};

using MakeOptimizer = std::function<OptimizerPtr()>;
/// What is seen on the way.
using Seen = std::vector<Floats>;
using Story = std::function<void(Words&, Seen&)>;

void expect_same_bits(const Seen& got, const Seen& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].size(), expected[i].size()) << i;
    const bool is_same = std::memcmp(got[i].data(), expected[i].data(),
                                     got[i].size() * sizeof(float)) == 0;
    EXPECT_TRUE(is_same) << "observation " << i << " of " << got.size();
  }
}

void expect_phases_see_the_same(const Table& table, const MakeOptimizer& make,
                                const Story& story) {
  const auto tell = [&](bool in_phases, int threads) {
    Words words(table, make(), in_phases, threads);
    Seen seen;
    story(words, seen);
    seen.push_back(read(words.weights()));
    return seen;
  };
  const Seen expected = tell(/*in_phases=*/true, 1);
  for (int threads : {1, 2, 5}) {
    SCOPED_TRACE(std::to_string(threads) + " threads");
    expect_same_bits(tell(/*in_phases=*/false, threads), expected);
  }
}

OptimizerPtr adam() { return std::make_shared<optimizers::Adam>(0.01f); }

OptimizerDescriptor descriptor(RegularizationType type) {
  OptimizerDescriptor descriptor;
  descriptor.learning_rate = 0.01f;
  descriptor.regularization_type = type;
  descriptor.regularization_scale = 0.1f;
  return descriptor;
}

/// Every kind of update that moves rows without a gradient.
std::vector<MakeOptimizer> rules() {
  using namespace optimizers;
  const auto l2 = descriptor(RegularizationType::L2);
  const auto l1 = descriptor(RegularizationType::L1);
  const auto none = descriptor(RegularizationType::None);
  OptimizerDescriptor plain, clipped;
  plain.learning_rate = clipped.learning_rate = 0.01f;
  clipped.applies_gradient_clipping = true;
  clipped.gradient_clip_min = 0.125f;
  clipped.gradient_clip_max = 0.25f;
  const auto with = [](auto make) -> MakeOptimizer { return make; };
  return {
      with(adam),
      with([=] { return std::make_shared<Adam>(l2); }),
      with([=] { return std::make_shared<Adam>(clipped); }),
      with([=] {
        return std::make_shared<Adam>(plain, 0.8f, 0.9f, 1e-6f, true);
      }),
      with([=] { return std::make_shared<AdamW>(none); }),
      with([=] { return std::make_shared<SGD>(l2); }),
      with([=] { return std::make_shared<SGD>(clipped); }),
      with([=] { return std::make_shared<SGD>(l1, 0.9f); }),
      with([=] { return std::make_shared<SGD>(plain, 0.9f, true); }),
      with([=] { return std::make_shared<RMSProp>(l2); }),
      with([=] { return std::make_shared<RMSProp>(plain, 0.9f); }),
      with([=] {
        return std::make_shared<RMSProp>(plain, 0.5f, 0.9f, 1e-6f, true);
      }),
      with([=] {
        return std::make_shared<RMSProp>(plain, 0.0f, 0.9f, 1e-6f, true);
      }),
  };
}

/// Longer than a row may be behind.
TEST(DeferredRows, EveryRuleHasTheBitsOfDenseUpdates) {
  const std::vector<MakeOptimizer> all = rules();
  for (std::size_t rule = 0; rule < all.size(); ++rule) {
    SCOPED_TRACE("rule " + std::to_string(rule));
    expect_phases_see_the_same({}, all[rule], [](Words& words, Seen& seen) {
      for (int i = 0; i < 300; ++i) {
        words.set_rate(0.01f + 1e-5f * static_cast<float>(i));
        words.step();
      }
      for (const Floats& slot : words.slots()) seen.push_back(slot);
    });
  }
}

TEST(DeferredRows, AnyTable) {
  const Table tables[] = {
      {.count = 80, .width = 1},
      {.count = 1000, .width = 64, .padding_index = 4},
      {.count = 81, .width = 130, .divides = true},
      {.count = 90, .width = 67, .padding_index = 0, .divides = true}};
  for (const Table& table : tables) {
    SCOPED_TRACE(std::to_string(table.count) + " by " +
                 std::to_string(table.width));
    for (const MakeOptimizer& make : {MakeOptimizer(adam), rules()[4]}) {
      expect_phases_see_the_same(table, make, [](Words& words, Seen& seen) {
        for (int i = 0; i < 20; ++i) words.step();
        for (const Floats& slot : words.slots()) seen.push_back(slot);
      });
    }
  }
}

TEST(DeferredRows, ReadersSeeAllRows) {
  const std::pair<const char*, Story> readers[] = {
      {"weights", [](Words& w, Seen& s) { s.push_back(read(w.weights())); }},
      {"slots",
       [](Words& w, Seen& s) {
         for (const Floats& slot : w.slots()) s.push_back(slot);
       }},
      {"inference",
       [](Words& w, Seen& s) { s.push_back(w.loss_of_inference()); }},
      {"another graph", [](Words& w, Seen& s) { s.push_back(w.look_up()); }},
      {"phases", [](Words& w, Seen&) { w.phases(); }},
      {"a smaller batch", [](Words& w, Seen&) { w.step(kTokens / 2); }},
      {"layer", [](Words& w, Seen& s) {
         w.weights().synchronize_data();
         s.push_back(host(w.weights()));
       }}};
  for (const auto& [name, reader] : readers) {
    SCOPED_TRACE(name);
    expect_phases_see_the_same({}, adam, [&](Words& words, Seen& seen) {
      for (int i = 0; i < 40; ++i) {
        words.step();
        if (i % 9 == 0) reader(words, seen);
      }
    });
  }
}

TEST(DeferredRows, WritersReplaceWhatAllStepsLeft) {
  const std::pair<const char*, Story> writers[] = {
      {"weights",
       [](Words& w, Seen&) {
         const Floats values =
             random_floats(w.weights().shape().num_elements(), 9);
         w.weights().set_data(view(values));
       }},
      {"slots", [](Words& w, Seen&) { w.bind_slots(5); }},
      {"compile again", [](Words& w, Seen&) { w.compile_again(); }},
      {"another graph", [](Words& w, Seen&) { w.compile(); }}};
  for (const auto& [name, writer] : writers) {
    SCOPED_TRACE(name);
    expect_phases_see_the_same({}, adam, [&](Words& words, Seen& seen) {
      for (int i = 0; i < 40; ++i) {
        words.step();
        if (i % 9 == 0) writer(words, seen);
      }
    });
  }
}

TEST(DeferredRows, RowsOfAGraphThatIsGoneCatchUp) {
  const Story story = [](Words& words, Seen& seen) {
    for (int i = 0; i < 10; ++i) words.step();
    words.destroy();
    seen.push_back(read(words.weights()));
  };
  expect_phases_see_the_same({}, adam, story);
}

/// Two graphs train one table in turns, each with an optimizer of its own.
TEST(DeferredRows, GraphsThatShareATable) {
  expect_phases_see_the_same({}, adam, [](Words& words, Seen& seen) {
    for (int i = 0; i < 30; ++i) {
      words.step();
      if (i % 3 == 0) words.step_of_another_graph();
      if (i % 10 == 0) seen.push_back(read(words.weights()));
    }
  });
}

TEST(DeferredRows, AnyOrderOfCalls) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  expect_phases_see_the_same(
      {.count = 200, .width = 19}, adam, [&](Words& words, Seen& seen) {
        std::mt19937 engine(seed);
        for (int i = 0; i < 300; ++i) {
          const auto choice = engine() % 60;
          if (choice == 0) words.compile_again();
          if (choice == 1) words.bind_slots(engine());
          if (choice == 2) words.phases();
          if (choice == 3) seen.push_back(words.look_up());
          if (choice == 4) seen.push_back(words.loss_of_inference());
          if (choice == 5) seen.push_back(read(words.weights()));
          if (choice == 6) words.set_rate(1e-4f * float(engine() % 100));
          if (choice == 7) words.compile();
          if (choice > 7) words.step(1 + engine() % kTokens);
        }
      });
}

TEST(DeferredRows, AStepStoresNoGradientOfTheTableAndSaysSo) {
  Words words({}, adam(), /*in_phases=*/false, 1);
  const MemoryReport memory = words.graph().memory();
  EXPECT_EQ(memory.phases.gradient_bytes, 300u * 21 * sizeof(float));
  EXPECT_EQ(memory.step.gradient_bytes, 0u);
  words.step().wait();
  const MemoryReport after = words.graph().memory();
  EXPECT_EQ(after.predicted_bytes, after.allocated_bytes);
  EXPECT_EQ(after.engine_bytes, 0u);
}

}  // namespace
}  // namespace traingraph
