#pragma once

#include <cfenv>

namespace gpt2 {

/// Sets the floating-point state of the current thread to the default.
void set_default_float_state() noexcept;

/// Sets the floating-point state of the current thread to the default. The destructor restores the
/// previous state.
///
/// A host program, such as an audio plug-in, may have set flush-to-zero, denormals-are-zero or
/// another rounding mode for its threads. The same arithmetic would then give different bits.
/// Therefore every public function that computes creates one of these objects.
class DefaultFloatState {
 public:
  DefaultFloatState() noexcept;
  ~DefaultFloatState();
  DefaultFloatState(const DefaultFloatState&) = delete;
  DefaultFloatState& operator=(const DefaultFloatState&) = delete;

 private:
  std::fenv_t callers_;
};

}  // namespace gpt2
