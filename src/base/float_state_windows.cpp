#include "base/float_state.h"

#include <immintrin.h>

namespace gpt2 {
namespace {

constexpr unsigned kDefaultVectorState = 0x1f80;  // rounds to nearest, keeps denormals, never traps

}  // namespace

// mingw's fesetenv never writes MXCSR, the register with the state of vector instructions.
void set_default_float_state() noexcept {
  std::fesetenv(FE_DFL_ENV);
  _mm_setcsr(kDefaultVectorState);
}

DefaultFloatState::DefaultFloatState() noexcept {
  std::fegetenv(&callers_);
  callers_.__mxcsr = _mm_getcsr();  // not used by mingw
  set_default_float_state();
}

DefaultFloatState::~DefaultFloatState() {
  std::fesetenv(&callers_);
  _mm_setcsr(callers_.__mxcsr);
}

}  // namespace gpt2
