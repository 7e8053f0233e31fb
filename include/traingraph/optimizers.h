// SPDX-License-Identifier: MIT
// The library's optimizers. Formulas: docs/differences.md and the classes
// below.
#pragma once

#include <cstdint>
#include <memory>

#include "traingraph/op_attrs.h"
#include "traingraph/optimizer.h"

namespace traingraph::optimizers {

// Each may be made of its hyperparameters as its update has them, too, of which
// it takes nothing else.

/// p -= lr g; momentum: m = mu m + lr g, p -= m; Nesterov: m = mu m + g,
/// p -= lr (g + mu m).
class TRAINGRAPH_API SGD : public LibraryOptimizer {
 public:
  using Attrs = SgdUpdateAttrs;
  static constexpr const char* kName = "SGD";

  SGD(const OptimizerDescriptor& descriptor, const Attrs& attrs)
      : LibraryOptimizer(kName, OpKind::SgdUpdate, descriptor, attrs) {}
  explicit SGD(const OptimizerDescriptor& descriptor, float momentum_scale = 0,
               bool uses_nesterov_momentum = false)
      : SGD(descriptor,
            Attrs{.momentum_scale = momentum_scale,
                  .uses_nesterov_momentum = uses_nesterov_momentum}) {}
  explicit SGD(float learning_rate, float momentum_scale = 0,
               bool uses_nesterov_momentum = false)
      : SGD(of_rate(learning_rate), momentum_scale, uses_nesterov_momentum) {}
  float momentum_scale() const { return own<Attrs>().momentum_scale; }
  bool uses_nesterov_momentum() const {
    return own<Attrs>().uses_nesterov_momentum;
  }
  std::unique_ptr<Optimizer> clone() const override {
    return std::make_unique<SGD>(*this);
  }
};

/// m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2;
/// p -= lr sqrt(1-b2^t) / (1-b1^t) * m / (sqrt(v) + epsilon).
/// AMSGrad divides by the largest v so far.
class TRAINGRAPH_API Adam : public LibraryOptimizer {
 public:
  using Attrs = AdamUpdateAttrs;
  static constexpr const char* kName = "Adam";

  Adam(const OptimizerDescriptor& descriptor, const Attrs& attrs,
       std::uint64_t time_step = 1)
      : Adam(kName, descriptor, attrs, time_step, /*is_decoupled=*/false) {}
  explicit Adam(const OptimizerDescriptor& descriptor, float beta1 = 0.9f,
                float beta2 = 0.999f, float epsilon = 1e-8f,
                bool uses_amsgrad = false, std::uint64_t time_step = 1)
      : Adam(descriptor,
             Attrs{.beta1 = beta1,
                   .beta2 = beta2,
                   .epsilon = epsilon,
                   .uses_amsgrad = uses_amsgrad},
             time_step) {}
  explicit Adam(float learning_rate = 1e-3f, float beta1 = 0.9f,
                float beta2 = 0.999f, float epsilon = 1e-8f,
                bool uses_amsgrad = false, std::uint64_t time_step = 1)
      : Adam(of_rate(learning_rate), beta1, beta2, epsilon, uses_amsgrad,
             time_step) {}
  float beta1() const { return own<Attrs>().beta1; }
  float beta2() const { return own<Attrs>().beta2; }
  float epsilon() const { return own<Attrs>().epsilon; }
  bool uses_amsgrad() const { return own<Attrs>().uses_amsgrad; }
  float corrected(float rate, std::uint64_t time_step) const override;
  std::unique_ptr<Optimizer> clone() const override {
    return std::make_unique<Adam>(*this);
  }

 protected:
  Adam(const char* class_name, const OptimizerDescriptor& descriptor,
       Attrs attrs, std::uint64_t time_step, bool is_decoupled)
      : LibraryOptimizer(class_name, OpKind::AdamUpdate, descriptor,
                         (attrs.decoupled_decay = is_decoupled, attrs),
                         time_step) {}
};

/// Adam with decoupled decay: p -= lr * regularization_scale * p instead of
/// regularization; InvalidArgument for a regularization_type.
class TRAINGRAPH_API AdamW : public Adam {
 public:
  static constexpr const char* kName = "AdamW";

  AdamW(const OptimizerDescriptor& descriptor, const Attrs& attrs,
        std::uint64_t time_step = 1)
      : Adam(kName, descriptor, attrs, time_step, /*is_decoupled=*/true) {}
  explicit AdamW(const OptimizerDescriptor& descriptor, float beta1 = 0.9f,
                 float beta2 = 0.999f, float epsilon = 1e-8f,
                 bool uses_amsgrad = false, std::uint64_t time_step = 1)
      : AdamW(descriptor,
              Attrs{.beta1 = beta1,
                    .beta2 = beta2,
                    .epsilon = epsilon,
                    .uses_amsgrad = uses_amsgrad},
              time_step) {}
  explicit AdamW(float learning_rate = 1e-3f, float beta1 = 0.9f,
                 float beta2 = 0.999f, float epsilon = 1e-8f,
                 bool uses_amsgrad = false, std::uint64_t time_step = 1)
      : AdamW(of_rate(learning_rate), beta1, beta2, epsilon, uses_amsgrad,
              time_step) {}
  std::unique_ptr<Optimizer> clone() const override {
    return std::make_unique<AdamW>(*this);
  }
};

/// n = a n + (1-a) g^2; d = sqrt(n) + epsilon, centered: sqrt(n - mean(g)^2) +
/// epsilon; D = mu D - lr g / d; p += D.
class TRAINGRAPH_API RMSProp : public LibraryOptimizer {
 public:
  using Attrs = RmspropUpdateAttrs;
  static constexpr const char* kName = "RMSProp";

  RMSProp(const OptimizerDescriptor& descriptor, const Attrs& attrs)
      : LibraryOptimizer(kName, OpKind::RmspropUpdate, descriptor, attrs) {}
  explicit RMSProp(const OptimizerDescriptor& descriptor,
                   float momentum_scale = 0, float alpha = 0.99f,
                   float epsilon = 1e-8f, bool is_centered = false)
      : RMSProp(descriptor, Attrs{.momentum_scale = momentum_scale,
                                  .alpha = alpha,
                                  .epsilon = epsilon,
                                  .is_centered = is_centered}) {}
  explicit RMSProp(float learning_rate, float momentum_scale = 0,
                   float alpha = 0.99f, float epsilon = 1e-8f,
                   bool is_centered = false)
      : RMSProp(of_rate(learning_rate), momentum_scale, alpha, epsilon,
                is_centered) {}
  float momentum_scale() const { return own<Attrs>().momentum_scale; }
  float alpha() const { return own<Attrs>().alpha; }
  float epsilon() const { return own<Attrs>().epsilon; }
  bool is_centered() const { return own<Attrs>().is_centered; }
  std::unique_ptr<Optimizer> clone() const override {
    return std::make_unique<RMSProp>(*this);
  }
};

/// All of them: for artefacts, and for Python.
template <class... Classes>
struct ClassList {};
using All = ClassList<  // the order of Python's documentation
    SGD, Adam, AdamW, RMSProp>;

}  // namespace traingraph::optimizers
