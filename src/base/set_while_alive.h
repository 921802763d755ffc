#pragma once

namespace gpt2 {

/// Sets a flag, and clears it at the end of its own life.
class SetWhileAlive {
 public:
  explicit SetWhileAlive(bool& flag) noexcept : flag_(flag) { flag_ = true; }
  ~SetWhileAlive() { flag_ = false; }
  SetWhileAlive(const SetWhileAlive&) = delete;
  SetWhileAlive& operator=(const SetWhileAlive&) = delete;

 private:
  bool& flag_;
};

}  // namespace gpt2
