#include "c_api/option_values.h"

#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace gpt2::c_api {
namespace {

static_assert(static_cast<int>(Overflow::slide) == GPT2_OVERFLOW_SLIDE);
static_assert(static_cast<int>(EarlyStopping::no) == GPT2_EARLY_STOPPING_NO);
static_assert(static_cast<int>(EarlyStopping::yes) == GPT2_EARLY_STOPPING_YES);
static_assert(static_cast<int>(EarlyStopping::never) == GPT2_EARLY_STOPPING_NEVER);

// take(to, name, first) and take(to, name, first, second) set `to` from the one or two C members of
// an option, and put() does the reverse.

template <class T>
requires std::is_arithmetic_v<T>
void take(T& to, const char*, T from) { to = from; }

void take(bool& to, const char*, std::int32_t from) { to = from != 0; }

void take(Overflow& to, const char* name, std::int32_t from) {
  require_value(from, GPT2_OVERFLOW_SLIDE, name);
  to = static_cast<Overflow>(from);
}

void take(EarlyStopping& to, const char* name, std::int32_t from) {
  require_value(from, GPT2_EARLY_STOPPING_NEVER, name);
  to = static_cast<EarlyStopping>(from);
}

void take(std::optional<TokenId>& to, const char*, gpt2_token from) {
  if (from != -1) to = from;
}

void take(std::vector<TokenId>& to, const char* name, const gpt2_ids& from) {
  to = list_of(from, name);
}

void take(std::vector<std::vector<TokenId>>& to, const char* name, const gpt2_ids* lists,
          std::size_t count) {
  to = lists_of(lists, count, name);
}

void take(std::vector<SequenceBias>& to, const char* name, const gpt2_sequence_bias* biases,
          std::size_t count) {
  for (const auto& [ids, bias] : span_of(biases, count, name)) {
    to.push_back({list_of(ids, name), bias});
  }
}

void take(std::vector<std::pair<TokenId, float>>& to, const char* name,
          const gpt2_logit_bias* biases, std::size_t count) {
  for (const auto& [id, bias] : span_of(biases, count, name)) to.emplace_back(id, bias);
}

void take(std::optional<ExponentialDecay>& to, const char*, double factor, std::size_t start) {
  if (factor != 1.0) to = {.start = start, .factor = factor};
}

void take(std::vector<std::string>& to, const char* name, const gpt2_bytes* texts,
          std::size_t count) {
  for (const gpt2_bytes& text : span_of(texts, count, name)) {
    to.emplace_back(text_of(text.data, text.size, "a stop string"));
  }
}

void take(std::optional<std::size_t>& to, const char*, std::int32_t is_set, std::size_t value) {
  if (is_set != 0) to = value;
}

template <class T, class C>
requires std::is_arithmetic_v<T> || std::is_enum_v<T>
void put(C& to, const T& from, OptionStorage&) { to = static_cast<C>(from); }

void put(gpt2_token& to, const std::optional<TokenId>& from, OptionStorage&) {
  to = from.value_or(-1);
}

void put(gpt2_ids& to, const std::vector<TokenId>& from, OptionStorage&) {
  to = {from.data(), from.size()};
}

template <class C, class Element>
void put_array(const C*& to, std::size_t& count, std::vector<Element>& array) {
  to = array.data();
  count = array.size();
}

void put(const gpt2_ids*& to, std::size_t& count, const std::vector<std::vector<TokenId>>& from,
         OptionStorage& storage) {
  for (const auto& ids : from) storage.bad_words_ids.push_back({ids.data(), ids.size()});
  put_array(to, count, storage.bad_words_ids);
}

void put(const gpt2_sequence_bias*& to, std::size_t& count, const std::vector<SequenceBias>& from,
         OptionStorage& storage) {
  for (const auto& [ids, bias] : from) {
    storage.sequence_bias.push_back({{ids.data(), ids.size()}, bias});
  }
  put_array(to, count, storage.sequence_bias);
}

void put(const gpt2_logit_bias*& to, std::size_t& count,
         const std::vector<std::pair<TokenId, float>>& from, OptionStorage& storage) {
  for (const auto& [id, bias] : from) storage.logit_bias.push_back({id, bias});
  put_array(to, count, storage.logit_bias);
}

void put(double& factor, std::size_t& start, const std::optional<ExponentialDecay>& from,
         OptionStorage&) {
  factor = from ? from->factor : 1.0;
  start = from ? from->start : 0;
}

// The library never returns stop strings, so only their absence has to be written.
void put(const gpt2_bytes*& to, std::size_t& count, const std::vector<std::string>&,
         OptionStorage&) {
  to = nullptr;
  count = 0;
}

void put(std::int32_t& is_set, std::size_t& value, const std::optional<std::size_t>& from,
         OptionStorage&) {
  is_set = from.has_value();
  value = from.value_or(0);
}

template <class Fields, class Members, class Options, class C>
void take_all(const Fields& fields, const Members& members, Options& options, const C& given) {
  for_each_pair(fields, members, [&](const auto& field, const auto& held) {
    auto& to = options.*field.member;
    if constexpr (std::is_null_pointer_v<decltype(held.second)>) {
      take(to, field.name, given.*held.first);
    } else {
      take(to, field.name, given.*held.first, given.*held.second);
    }
  });
}

template <class Fields, class Members, class Options, class C>
void put_all(const Fields& fields, const Members& members, const Options& options, C& to,
             OptionStorage& storage) {
  for_each_pair(fields, members, [&](const auto& field, const auto& held) {
    const auto& from = options.*field.member;
    if constexpr (std::is_null_pointer_v<decltype(held.second)>) {
      put(to.*held.first, from, storage);
    } else {
      put(to.*held.first, to.*held.second, from, storage);
    }
  });
}

}  // namespace

SamplingOptions sampling_from(const gpt2_sampling_options& given) {
  SamplingOptions options;
  take_all(OptionTable::sampling, kSamplingMembers, options, given);
  return options;
}

void set_generation(GenerationOptions& options, const gpt2_generate_options& given) {
  take_all(OptionTable::generation, kGenerationMembers, options, given);
}

BeamOptions beams_from(const gpt2_beam_options& given) {
  BeamOptions options;
  take_all(OptionTable::beams, kBeamMembers, options, given);
  return options;
}

void fill(gpt2_sampling_options& to, const SamplingOptions& from, OptionStorage& storage) {
  put_all(OptionTable::sampling, kSamplingMembers, from, to, storage);
}

void fill(gpt2_generate_options& to, const GenerationOptions& from, OptionStorage& storage) {
  put_all(OptionTable::generation, kGenerationMembers, from, to, storage);
}

void fill(gpt2_beam_options& to, const BeamOptions& from, OptionStorage& storage) {
  put_all(OptionTable::beams, kBeamMembers, from, to, storage);
}

}  // namespace gpt2::c_api
