// SPDX-License-Identifier: MIT
#import "mpsnn/loss_kernels.h"

#include <optional>

#include "mpsnn/arithmetic/picture.h"
#import "mpsnn/encoding.h"
#import "mpsnn/images.h"
#include "mpsnn/picture_kernels.h"

namespace emulator::mpsnn {
namespace {

bool is_reduced(const Loss& loss) {
  return loss.reduction != LossReduction::kNone;
}

Extent loss_extent(const Loss& loss, const Extent& predictions) {
  return is_reduced(loss) ? Extent{1, 1, 1} : predictions;
}

void require_same(const char* name, const char* what, const Extent& got,
                  const Extent& predictions) {
  if (got == predictions) return;
  refuse_filter(name, std::string(what) + " are " + to_string(got) +
                          ", predictions " + to_string(predictions));
}

/// The losses of a batch as images.
Pictures losses_of(const Loss& loss, const std::vector<LossImages>& batch) {
  Pictures losses;
  if (!is_reduced(loss)) {
    for (const LossImages& images : batch) {
      losses.push_back(element_losses(loss, images));
    }
    return losses;
  }
  ReducedLoss all;
  for (const LossImages& images : batch) {
    const ReducedLoss one = reduced_loss(loss, images);
    all.total += one.total;
    all.divisor += one.divisor;
    losses.push_back(picture_of({1, 1, 1}, [&](auto, auto, auto) {
      return loss.reduces_across_batch ? 0 : one.value();
    }));
  }
  if (!loss.reduces_across_batch) return losses;
  // Sums are not divided by the number of images.
  if (loss.reduction == LossReduction::kSum) all.divisor = 1;
  losses[0].data[0] = static_cast<float>(all.value());
  return losses;
}

const LossLabels& labels_of(const char* name, const FilterState* state) {
  const auto* labels = dynamic_cast<const LossLabels*>(state);
  if (!labels) refuse_filter(name, "the source state is no MPSCNNLossLabels");
  return *labels;
}

class LossKernel : public FilterKernel {
 public:
  LossKernel(const char* name, const Loss& loss) : name_(name), loss_(loss) {}

  Extent result_extent(const Sizes& sizes) const override {
    const Extent& predictions = sizes.sources[0];
    const LossLabels& labels = labels_of(name_, sizes.states[0]);
    require_same(name_, "labels", extent_of(labels.labels.get()), predictions);
    if (labels.weights.get()) {
      require_same(name_, "weights", extent_of(labels.weights.get()),
                   predictions);
    }
    const Extent wanted = loss_extent(loss_, predictions);
    const Extent got = extent_of(labels.loss.get());
    if (got != wanted) {
      refuse_filter(name_, "the loss image is " + to_string(got) +
                               ", expected " + to_string(wanted));
    }
    return predictions;
  }

  void run(FilterRun& run) override {
    const std::size_t count = run.result->size();
    Pictures labels(count), weights(count);
    std::vector<LossImages> batch(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto& state = run.state<LossLabels>(0, i);
      labels[i] = [state.labels.get() picture];
      batch[i] = {&(*run.sources[0])[i], &labels[i], nullptr};
      if (state.weights.get()) {
        weights[i] = [state.weights.get() picture];
        batch[i].weights = &weights[i];
      }
    }
    const Pictures losses = losses_of(loss_, batch);
    for (std::size_t i = 0; i < count; ++i) {
      (*run.result)[i] = prediction_gradient(loss_, batch[i]);
      [run.state<LossLabels>(0, i).loss.get() setPicture:losses[i]];
    }
  }

  bool has_side_effects() const override { return true; }
  bool keeps_states() const override { return true; }

 private:
  const char* name_;
  Loss loss_;
};

/// Images `first`, `first` + 1 and, if there, `first` + 2.
LossImages images_of(const FilterRun& run, std::size_t first, std::size_t i) {
  LossImages images{&(*run.sources[first])[i], &(*run.sources[first + 1])[i],
                    nullptr};
  if (run.sources.size() > first + 2) {
    images.weights = &(*run.sources[first + 2])[i];
  }
  return images;
}

void require_images(const char* name, const Sizes& sizes, std::size_t first) {
  const Extent& predictions = sizes.sources[first];
  require_same(name, "labels", sizes.sources[first + 1], predictions);
  if (sizes.sources.size() > first + 2) {
    require_same(name, "weights", sizes.sources[first + 2], predictions);
  }
}

Answer ask_callback(id<MPSNNLossCallback> callback,
                    const EncodedImages& images) {
  if (!callback) return {};
  return {[callback scalarWeightForSourceImage:images.source
                              destinationImage:images.result]};
}

Loss with_answer(Loss loss, const Answer& answer) {
  if (!answer.empty()) loss.weight = answer[0];
  return loss;
}

class ForwardLossKernel : public FilterKernel {
 public:
  ForwardLossKernel(const char* name, const Loss& loss,
                    id<MPSNNLossCallback> callback)
      : name_(name), loss_(loss), callback_(callback) {}

  Extent result_extent(const Sizes& sizes) const override {
    require_images(name_, sizes, 0);
    return loss_extent(loss_, sizes.sources[0]);
  }
  Answer ask(const EncodedImages& images) override {
    return ask_callback(callback_.get(), images);
  }
  void run(FilterRun& run) override {
    std::vector<LossImages> batch;
    for (std::size_t i = 0; i < run.result->size(); ++i) {
      batch.push_back(images_of(run, 0, i));
    }
    *run.result = losses_of(with_answer(loss_, run.answer), batch);
  }

 private:
  const char* name_;
  Loss loss_;
  Retained<id> callback_;
};

class LossGradientKernel : public FilterKernel {
 public:
  LossGradientKernel(const char* name, const Loss& loss, bool is_of_labels,
                     id<MPSNNLossCallback> callback)
      : name_(name),
        loss_(loss),
        is_of_labels_(is_of_labels),
        callback_(callback) {}

  Extent result_extent(const Sizes& sizes) const override {
    require_images(name_, sizes, 1);
    require_gradient(name_, sizes.sources[0],
                     loss_extent(loss_, sizes.sources[1]));
    return sizes.sources[1];
  }
  Answer ask(const EncodedImages& images) override {
    return ask_callback(callback_.get(), images);
  }
  void run(FilterRun& run) override {
    Answer answer = run.answer;
    if (answer.empty() && !run.states.empty()) {
      answer = run.state<FilterState>(0).answer;
    }
    const Loss loss = with_answer(loss_, answer);
    const Pictures& gradients = *run.sources[0];
    for (std::size_t i = 0; i < run.result->size(); ++i) {
      // The loss of the whole batch is in the first image.
      const bool is_shared = is_reduced(loss_) && loss_.reduces_across_batch;
      const Picture& g = gradients[is_shared ? 0 : i];
      LossImages images = images_of(run, 1, i);
      const Picture* weights = images.weights;
      // A factor of the element losses, as weights are: the elements of a
      // softmax mix them.
      const Picture factors =
          picture_of(images.predictions->extent, [&](auto c, auto y, auto x) {
            const double outer = is_reduced(loss_) ? g.data[0] : g.at(c, y, x);
            return outer * (weights ? weights->at(c, y, x) : 1);
          });
      images.weights = &factors;
      (*run.result)[i] = is_of_labels_ ? label_gradient(loss, images)
                                       : prediction_gradient(loss, images);
    }
  }

 private:
  const char* name_;
  Loss loss_;
  bool is_of_labels_;
  Retained<id> callback_;
};

}  // namespace

void require_loss(const char* name, MPSCNNLossDescriptor* descriptor) {
  if (!descriptor) refuse(name, @"the loss descriptor is nil");
  if ([descriptor lossType] == MPSCNNLossTypeCosineDistance &&
      [descriptor reductionType] != MPSCNNReductionTypeSum) {
    refuse(name, @"the cosine distance has reduction Sum only");
  }
}

Loss loss_of(MPSCNNLossDescriptor* d) {
  Loss loss;
  loss.type = static_cast<LossType>([d lossType]);
  loss.reduction = static_cast<LossReduction>([d reductionType]);
  loss.reduces_across_batch = [d reduceAcrossBatch];
  loss.weight = [d weight];
  loss.label_smoothing = [d labelSmoothing];
  loss.epsilon = [d epsilon];
  loss.delta = [d delta];
  loss.num_classes = static_cast<std::int64_t>([d numberOfClasses]);
  return loss;
}

std::shared_ptr<FilterKernel> loss_kernel(const char* name, const Loss& loss) {
  return std::make_shared<LossKernel>(name, loss);
}

std::shared_ptr<FilterKernel> forward_loss_kernel(
    const char* name, const Loss& loss, id<MPSNNLossCallback> callback) {
  return std::make_shared<ForwardLossKernel>(name, loss, callback);
}

std::shared_ptr<FilterKernel> loss_gradient_kernel(
    const char* name, const Loss& loss, bool is_of_labels,
    id<MPSNNLossCallback> callback) {
  return std::make_shared<LossGradientKernel>(name, loss, is_of_labels,
                                              callback);
}

}  // namespace emulator::mpsnn
