#pragma once

#include <cstddef>
#include <string_view>

#include "base/fail.h"
#include "generate/options/option_codec.h"
#include "gpt2/beam_search.h"
#include "gpt2/generate.h"
#include "gpt2/sampler.h"

namespace gpt2 {

/// Throws Error(invalid_argument), which begins with `name`, if the value has a token id outside
/// the vocabulary or a sequence without ids.
template <class T>
void check_ids(std::string_view name, const T& value, std::size_t vocab_size) {
  if constexpr (requires { OptionCodec<T>::ids(value); }) {
    for (const TokenIds& ids : OptionCodec<T>::ids(value)) {
      if (ids.empty()) reject(name, " has a sequence without tokens: give at least one");
      for (const TokenId id : ids) {
        if (id >= 0 && static_cast<std::size_t>(id) < vocab_size) continue;
        reject(name, " has the token ", id, ", which is outside the vocabulary of ", vocab_size,
               ": give ids from 0 to ", vocab_size - 1);
      }
    }
  }
}

/// Throws Error(invalid_argument), which names the option, if an option is outside its range, has a
/// token id outside the vocabulary, or has a sequence without ids.
void check_options(const SamplingOptions& options, std::size_t vocab_size);

/// The same for the options of generation, without their sampling options, and for those of a beam
/// search, which may also contradict one another.
void check_options(const GenerationOptions& options);
void check_options(const BeamOptions& options);

}  // namespace gpt2
