// SPDX-License-Identifier: MIT
// A damped pendulum, and batches of its motion.
#pragma once

#include <cmath>
#include <random>
#include <vector>

struct Pendulum {
  float angle, speed;

  Pendulum next() const {
    constexpr float kSeconds = 0.05F, kDamping = 0.1F, kGravity = 9.81F;
    const float acceleration = -kGravity * std::sin(angle) - kDamping * speed;
    return {angle + kSeconds * speed, speed + kSeconds * acceleration};
  }
};

/// Rows of angle and speed, and how both change.
struct Motion {
  explicit Motion(int batch) : state(batch * 2), change(batch * 2) {}

  void fill(std::mt19937& random) {
    std::uniform_real_distribution<float> angles(-2, 2), speeds(-3, 3);
    for (std::size_t i = 0; i < state.size(); i += 2) {
      const Pendulum now{angles(random), speeds(random)};
      const Pendulum then = now.next();
      state[i] = now.angle;
      state[i + 1] = now.speed;
      change[i] = then.angle - now.angle;
      change[i + 1] = then.speed - now.speed;
    }
  }

  std::vector<float> state, change;
};
