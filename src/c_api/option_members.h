#pragma once

#include <cstddef>
#include <string_view>
#include <tuple>
#include <utility>

#include "gpt2/gpt2.h"
#include "gpt2/option_fields.h"

// Which member of which C struct holds the value of which row of the table of options. Defaults,
// conversions and gpt2_option_fields() visit these pairs.
//
// A library that is older than a program refuses an option that it does not know, because the
// program's struct is larger. So a new member must make the struct larger: it begins at a multiple
// of 8 bytes, where the padding at the end is over. After a float or an int32_t, a member
// `int32_t reserved_OFFSET` fills the padding. sampling_fields_test checks this.

namespace gpt2::c_api {

/// The members of the struct C that hold the value of an option. A list has two, which are
/// adjacent: a pointer and a length. So have optional numbers and pairs of numbers.
template <class C, class First, class Second>
struct OptionMember {
  const char* name;
  First C::*first;
  Second second;  ///< nullptr, or a pointer to a member
};

template <class C, class First, class Second = std::nullptr_t>
constexpr auto held_by(const char* name, First C::*first, Second second = nullptr) {
  return OptionMember<C, First, Second>{name, first, second};
}

/// In the order of OptionTable::sampling.
inline constexpr auto kSamplingMembers = [] {
  using C = gpt2_sampling_options;
  return std::tuple(
      held_by("temperature", &C::temperature), held_by("top_k", &C::top_k),
      held_by("top_n_sigma", &C::top_n_sigma), held_by("top_p", &C::top_p),
      held_by("min_p", &C::min_p), held_by("typical_p", &C::typical_p),
      held_by("epsilon_cutoff", &C::epsilon_cutoff), held_by("eta_cutoff", &C::eta_cutoff),
      held_by("seed", &C::seed), held_by("sequence", &C::sequence),
      held_by("min_new_tokens", &C::min_new_tokens), held_by("min_length", &C::min_length),
      held_by("forced_eos_token_id", &C::forced_eos_token_id),
      held_by("exponential_decay_length_penalty", &C::decay_factor, &C::decay_start),
      held_by("repetition_penalty", &C::repetition_penalty),
      held_by("no_repeat_ngram_size", &C::no_repeat_ngram_size),
      held_by("presence_penalty", &C::presence_penalty),
      held_by("frequency_penalty", &C::frequency_penalty),
      held_by("bad_words_ids", &C::bad_words_ids, &C::n_bad_words_ids),
      held_by("suppress_tokens", &C::suppress_tokens),
      held_by("begin_suppress_tokens", &C::begin_suppress_tokens),
      held_by("logit_bias", &C::logit_bias, &C::n_logit_bias),
      held_by("sequence_bias", &C::sequence_bias, &C::n_sequence_bias),
      held_by("forced_bos_token_id", &C::forced_bos_token_id),
      held_by("remove_invalid_values", &C::remove_invalid_values),
      held_by("renormalize_logits", &C::renormalize_logits));
}();

/// In the order of OptionTable::generation.
inline constexpr auto kGenerationMembers = [] {
  using C = gpt2_generate_options;
  return std::tuple(held_by("max_new_tokens", &C::max_new_tokens),
                    held_by("stop", &C::stop, &C::n_stop), held_by("ignore_eos", &C::ignore_eos),
                    held_by("overflow", &C::overflow), held_by("keep", &C::keep),
                    held_by("logprobs", &C::wants_logprobs, &C::top_logprobs));
}();

/// In the order of OptionTable::beams.
inline constexpr auto kBeamMembers = [] {
  using C = gpt2_beam_options;
  return std::tuple(held_by("num_beams", &C::num_beams),
                    held_by("num_return_sequences", &C::num_return_sequences),
                    held_by("length_penalty", &C::length_penalty),
                    held_by("early_stopping", &C::early_stopping),
                    held_by("num_beam_groups", &C::num_beam_groups),
                    held_by("diversity_penalty", &C::diversity_penalty),
                    held_by("pad_token_id", &C::pad_token_id));
}();

/// Calls visit(field, member) for each row of a table and the C members of the same name.
template <class Fields, class Members, class Visitor>
constexpr void for_each_pair(const Fields& fields, const Members& members, const Visitor& visit) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (visit(std::get<I>(fields), std::get<I>(members)), ...);
  }
  (std::make_index_sequence<std::tuple_size_v<Members>>());
}

/// Returns whether the C struct has members for exactly the rows of the table.
template <class Fields, class Members>
constexpr bool are_paired(const Fields& fields, const Members& members) {
  if constexpr (std::tuple_size_v<Fields> != std::tuple_size_v<Members>) {
    return false;
  } else {
    bool same = true;
    for_each_pair(fields, members, [&same](const auto& field, const auto& member) {
      same = same && std::string_view(field.name) == member.name;
    });
    return same;
  }
}
static_assert(are_paired(OptionTable::sampling, kSamplingMembers));
static_assert(are_paired(OptionTable::generation, kGenerationMembers));
static_assert(are_paired(OptionTable::beams, kBeamMembers));

}  // namespace gpt2::c_api
