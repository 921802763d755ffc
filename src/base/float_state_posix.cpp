#include "base/float_state.h"

namespace gpt2 {

void set_default_float_state() noexcept { std::fesetenv(FE_DFL_ENV); }

DefaultFloatState::DefaultFloatState() noexcept {
  std::fegetenv(&callers_);
  std::fesetenv(FE_DFL_ENV);
}

DefaultFloatState::~DefaultFloatState() { std::fesetenv(&callers_); }

}  // namespace gpt2
