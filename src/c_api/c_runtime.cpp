#include "c_api/arguments.h"
#include "c_api/handles.h"
#include "gpt2/runtime.h"

using namespace gpt2::c_api;

namespace {

// The names as std::string, because C needs a zero byte after each.
const std::vector<std::string>& isa_names() {
  static const std::vector<std::string> names = gpt2::available_isas();
  return names;
}

}  // namespace

int32_t gpt2_version(void) { return GPT2_VERSION; }

const char* gpt2_isa_name(void) {
  return guard_pointer([]() -> const char* {
    const std::string_view current = gpt2::isa_name();
    for (const std::string& name : isa_names()) {
      if (name == current) return name.c_str();
    }
    return nullptr;
  });
}

const char* gpt2_available_isa(size_t index) {
  return guard_pointer([&]() -> const char* {
    return index < isa_names().size() ? isa_names()[index].c_str() : nullptr;
  });
}

gpt2_status gpt2_force_isa(const char* name) {
  return guard([&] { gpt2::force_isa(c_string(name, "the name of the instruction set")); });
}

int32_t gpt2_thread_count(void) {
  int32_t count = 1;
  guard([&] { count = gpt2::thread_count(); });
  return count;
}

gpt2_status gpt2_cancel_new(gpt2_cancel** out) {
  return guard_new(out, [] { return std::make_unique<gpt2_cancel>(); });
}

gpt2_status gpt2_cancel_set(gpt2_cancel* cancel, int32_t is_set) {
  return guard([&] { checked(cancel).flag->store(is_set != 0); });
}

void gpt2_cancel_free(gpt2_cancel* cancel) { release(cancel); }
