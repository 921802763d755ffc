#include "c_api/options.h"

#include <algorithm>
#include <string>

namespace gpt2::c_api {
namespace {

constexpr std::size_t kMaxSize = 4096;  // of any struct, in any version

}  // namespace

void require_size(std::size_t size) {
  const std::size_t unit = sizeof(std::size_t);
  if (size < 2 * unit || size > kMaxSize || size % unit != 0) {
    reject("a struct of options has the size " + std::to_string(size) +
           ": initialize it with its init function and the sizeof of the struct");
  }
}

void copy_known(void* known, std::size_t known_size, const void* given) {
  std::size_t size;
  std::memcpy(&size, given, sizeof size);
  require_size(size);
  const auto* const bytes = static_cast<const unsigned char*>(given);
  std::memcpy(known, bytes, std::min(size, known_size));
  if (size > known_size &&
      std::any_of(bytes + known_size, bytes + size, [](unsigned char byte) { return byte != 0; })) {
    throw Error(ErrorCode::unsupported,
                "a struct of options has the size " + std::to_string(size) +
                    " and sets an option that this version of the library, which knows " +
                    std::to_string(known_size) + " bytes, does not have: use a newer library");
  }
}

}  // namespace gpt2::c_api

using gpt2::c_api::init_options;

gpt2_status gpt2_load_options_init(gpt2_load_options* options, size_t size) {
  return init_options(options, size);
}

gpt2_status gpt2_encode_options_init(gpt2_encode_options* options, size_t size) {
  return init_options(options, size);
}

gpt2_status gpt2_engine_options_init(gpt2_engine_options* options, size_t size) {
  return init_options(options, size);
}

gpt2_status gpt2_session_options_init(gpt2_session_options* options, size_t size) {
  return init_options(options, size);
}

gpt2_status gpt2_observer_init(gpt2_observer* observer, size_t size) {
  return init_options(observer, size);
}

gpt2_status gpt2_sampling_options_init(gpt2_sampling_options* options, size_t size) {
  return init_options(options, size);
}

gpt2_status gpt2_sequence_limits_init(gpt2_sequence_limits* limits, size_t size) {
  return init_options(limits, size);
}

gpt2_status gpt2_generate_options_init(gpt2_generate_options* options, size_t size) {
  return init_options(options, size);
}

gpt2_status gpt2_beam_options_init(gpt2_beam_options* options, size_t size) {
  return init_options(options, size);
}

gpt2_status gpt2_scheduler_options_init(gpt2_scheduler_options* options, size_t size) {
  return init_options(options, size);
}

gpt2_status gpt2_score_options_init(gpt2_score_options* options, size_t size) {
  return init_options(options, size);
}

gpt2_status gpt2_compare_options_init(gpt2_compare_options* options, size_t size) {
  return init_options(options, size);
}

gpt2_status gpt2_embed_options_init(gpt2_embed_options* options, size_t size) {
  return init_options(options, size);
}
