#include <array>
#include <cstddef>
#include <type_traits>

#include "c_api/arguments.h"
#include "c_api/option_members.h"

using namespace gpt2::c_api;

namespace gpt2::c_api {
namespace {

static_assert(static_cast<int>(OptionRole::draws) == GPT2_ROLE_DRAWS);
static_assert(static_cast<int>(OptionRole::limits_length) == GPT2_ROLE_LIMITS_LENGTH);
static_assert(static_cast<int>(OptionRole::penalizes) == GPT2_ROLE_PENALIZES);
static_assert(static_cast<int>(OptionRole::names_tokens) == GPT2_ROLE_NAMES_TOKENS);
static_assert(static_cast<int>(OptionRole::searches) == GPT2_ROLE_SEARCHES);
static_assert(static_cast<int>(OptionRole::reports) == GPT2_ROLE_REPORTS);
static_assert(static_cast<int>(OptionOrigin::huggingface) == GPT2_ORIGIN_HUGGINGFACE);
static_assert(static_cast<int>(OptionOrigin::openai) == GPT2_ORIGIN_OPENAI);
static_assert(static_cast<int>(OptionOrigin::own) == GPT2_ORIGIN_OWN);

// Returns how the members of type First (and perhaps a second one) hold a value of type T.
template <class T, class First>
constexpr gpt2_option_type type_of() {
  if constexpr (std::is_same_v<T, bool>) return GPT2_OPTION_FLAG;
  if constexpr (std::is_enum_v<T>) return GPT2_OPTION_ENUM;
  if constexpr (std::is_same_v<T, std::optional<std::size_t>>) return GPT2_OPTION_MAYBE_SIZE;
  if constexpr (std::is_same_v<T, std::optional<ExponentialDecay>>) return GPT2_OPTION_DECAY;
  if constexpr (std::is_same_v<First, float>) return GPT2_OPTION_FLOAT;
  if constexpr (std::is_same_v<First, double>) return GPT2_OPTION_DOUBLE;
  if constexpr (std::is_same_v<First, std::size_t>) return GPT2_OPTION_SIZE;
  if constexpr (std::is_same_v<First, std::uint64_t>) return GPT2_OPTION_UINT64;
  if constexpr (std::is_same_v<First, gpt2_token>) return GPT2_OPTION_TOKEN;
  if constexpr (std::is_same_v<First, gpt2_ids>) return GPT2_OPTION_IDS;
  if constexpr (std::is_same_v<First, const gpt2_ids*>) return GPT2_OPTION_ID_LISTS;
  if constexpr (std::is_same_v<First, const gpt2_sequence_bias*>) return GPT2_OPTION_SEQUENCE_BIAS;
  if constexpr (std::is_same_v<First, const gpt2_logit_bias*>) return GPT2_OPTION_LOGIT_BIAS;
  if constexpr (std::is_same_v<First, const gpt2_bytes*>) return GPT2_OPTION_TEXTS;
}

template <class C, class Member>
std::size_t offset_of(const C& object, Member C::*member) {
  const void* const begin = &object;
  const void* const at = &(object.*member);
  return static_cast<std::size_t>(static_cast<const char*>(at) - static_cast<const char*>(begin));
}

template <class C, class Fields, class Members>
auto rows_of(const Fields& fields, const Members& members) {
  std::array<gpt2_option_field, std::tuple_size_v<Members>> rows = {};
  auto* next = rows.data();
  for_each_pair(fields, members, [&next](const auto& field, const auto& held) {
    using Field = std::remove_cvref_t<decltype(field)>;
    using First = std::remove_cvref_t<decltype(std::declval<C&>().*held.first)>;
    static const C object = {};
    *next++ = {.name = field.name,
               .help = field.help,
               .offset = offset_of(object, held.first),
               .type = type_of<typename Field::Value, First>(),
               .role = static_cast<gpt2_option_role>(field.role),
               .origin = static_cast<gpt2_option_origin>(field.origin),
               .min = field.range.min,
               .max = field.range.max,
               .also = field.range.also};
  });
  return rows;
}

}  // namespace
}  // namespace gpt2::c_api

const gpt2_option_field* gpt2_option_fields(gpt2_option_table table, size_t* count) {
  using gpt2::OptionTable;
  static const auto sampling =
      rows_of<gpt2_sampling_options>(OptionTable::sampling, kSamplingMembers);
  static const auto generation =
      rows_of<gpt2_generate_options>(OptionTable::generation, kGenerationMembers);
  static const auto beams = rows_of<gpt2_beam_options>(OptionTable::beams, kBeamMembers);
  const auto returned = [count](const auto& rows) {
    if (count != nullptr) *count = rows.size();
    return rows.data();
  };
  return guard_pointer([&] {
    require_value(table, GPT2_OPTIONS_BEAMS, "the table");
    if (table == GPT2_OPTIONS_SAMPLING) return returned(sampling);
    return table == GPT2_OPTIONS_GENERATION ? returned(generation) : returned(beams);
  });
}
