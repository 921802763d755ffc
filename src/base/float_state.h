#pragma once

#include <cfenv>

namespace gpt2 {

/// Computes in the default floating-point state while it lives, and then restores the caller's.
///
/// A host (an audio plug-in, say) may have set flush-to-zero, denormals-are-zero or another
/// rounding mode for its threads. With them the same arithmetic gives other bits, so every entry of
/// the library that computes holds one of these. The state belongs to the thread.
class DefaultFloatState {
 public:
  DefaultFloatState() noexcept {
    std::fegetenv(&callers_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatState() { std::fesetenv(&callers_); }
  DefaultFloatState(const DefaultFloatState&) = delete;
  DefaultFloatState& operator=(const DefaultFloatState&) = delete;

 private:
  std::fenv_t callers_;
};

}  // namespace gpt2
