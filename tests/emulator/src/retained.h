// SPDX-License-Identifier: MIT
// Owning references to Objective-C objects and to blocks, for lambdas to
// capture. Blocks are no objects of this runtime: they have their own verbs.
#pragma once

#include <Block.h>
#import <Foundation/Foundation.h>

#include <utility>

namespace emulator {

template <class Pointer>
class Retained {
 public:
  explicit Retained(Pointer object) : object_([object retain]) {}
  Retained(const Retained& other) : Retained(other.object_) {}
  Retained& operator=(Retained other) {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Retained() { [object_ release]; }
  Pointer get() const { return object_; }

 private:
  Pointer object_;
};

template <class Block>
class RetainedBlock {
 public:
  explicit RetainedBlock(Block block) {
    if (block) block_ = Block_copy(block);
  }
  RetainedBlock(const RetainedBlock& other) : RetainedBlock(other.block_) {}
  RetainedBlock& operator=(RetainedBlock other) {
    std::swap(block_, other.block_);
    return *this;
  }
  ~RetainedBlock() {
    if (block_) Block_release(block_);
  }
  Block get() const { return block_; }

 private:
  Block block_ = nil;
};

/// For the setter of a property that is a block.
template <class Block>
void set_block(Block& slot, Block block) {
  Block copy = nil;
  if (block) copy = Block_copy(block);
  if (slot) Block_release(slot);
  slot = copy;
}

}  // namespace emulator
