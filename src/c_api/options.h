#pragma once

#include <cstddef>
#include <cstring>

#include "c_api/arguments.h"

// Structs of options begin with their size, so that a program and a library that were compiled with
// different versions of a struct work together.

namespace gpt2::c_api {

/// Sets the members whose default is not zero. All others must already be zero.
inline void set_defaults(gpt2_load_options&) {}
inline void set_defaults(gpt2_engine_options&) {}
inline void set_defaults(gpt2_session_options&) {}
inline void set_defaults(gpt2_observer&) {}
inline void set_defaults(gpt2_score_options&) {}
inline void set_defaults(gpt2_compare_options&) {}
void set_defaults(gpt2_encode_options& options);
void set_defaults(gpt2_sampling_options& options);
void set_defaults(gpt2_sequence_limits& limits);
void set_defaults(gpt2_generate_options& options);
void set_defaults(gpt2_beam_options& options);
void set_defaults(gpt2_scheduler_options& options);
void set_defaults(gpt2_embed_options& options);

/// Throws Error(invalid_argument) for a size that no struct of options can have.
void require_size(std::size_t size);

/// Copies the caller's struct to `known`, a struct of known_size bytes. Throws Error(unsupported)
/// if the caller's struct is larger and the bytes beyond known_size are not zero.
void copy_known(void* known, std::size_t known_size, const void* given);

/// Returns the caller's options, with the defaults for members that the caller's struct does not
/// have. Padding is zero, too, because a later version may put a member there.
template <class Options>
Options options_of(const Options* given) {
  Options options;
  std::memset(&options, 0, sizeof options);
  set_defaults(options);
  if (given != nullptr) copy_known(&options, sizeof options, given);
  options.size = sizeof options;
  return options;
}

/// Implements the gpt2_X_options_init functions.
template <class Options>
gpt2_status init_options(Options* out, std::size_t size) noexcept {
  return guard([&] {
    require(out, "the struct of options");
    require_size(size);
    Options options;
    std::memset(&options, 0, sizeof options);
    set_defaults(options);
    options.size = size;
    std::memset(out, 0, size);
    std::memcpy(out, &options, size < sizeof options ? size : sizeof options);
  });
}

}  // namespace gpt2::c_api
