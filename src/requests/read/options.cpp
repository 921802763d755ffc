#include "requests/read/options.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/fail.h"
#include "base/system/process.h"
#include "generate/options/option_codec.h"

namespace gpt2 {
namespace {

// Sets the option of a row from the member with this name.
template <class Field, class Values>
void read_field(Members& members, const Field& row, Values& values, const char* name) {
  const nlohmann::json* const value = members.find(name);
  if (value == nullptr) return;
  const Field field = of_requests(row);
  using Codec = OptionCodec<typename Field::Value>;
  if (!Codec::read(*value, field.range, values.*field.member)) {
    const bool is_seed = std::string_view(name) == "seed";
    members.refuse(name, concat(Codec::form(field.range).json, is_seed ? " or \"random\"" : ""));
  }
}

// In the order of OptionRole and OptionOrigin.
constexpr const char* kRoles[] = {"draws",        "limits_length", "penalizes",
                                  "names_tokens", "searches",      "reports"};
constexpr const char* kOrigins[] = {"huggingface", "openai", "own"};

template <class Field, class Values>
Json row_json(const Field& of_table, const Values& defaults, const Values& of_command) {
  using T = typename Field::Value;
  const Field field = of_requests(of_table);
  const OptionForm form = OptionCodec<T>::form(field.range);
  Json row = {{"name", field.name},
              {"role", kRoles[static_cast<std::size_t>(field.role)]},
              {"origin", kOrigins[static_cast<std::size_t>(field.origin)]},
              {"type", form.type}};
  if constexpr (std::is_enum_v<T>) {
    for (std::size_t i = 0; i < kNamesOf<T>.size(); ++i) {
      row["choices"].push_back(Json(OptionCodec<T>::write(static_cast<T>(i))));
    }
  }
  if (form.word == "N") {
    row["min"] = field.range.min;
    row["max"] = field.range.max;
    row["also"] = field.range.also;
  }
  row["form"] = form.json;
  row["default"] = OptionCodec<T>::write(defaults.*field.member);
  row["command_default"] = OptionCodec<T>::write(of_command.*field.member);
  row["help"] = field.help;
  return row;
}

}  // namespace

bool is_option(std::string_view name) {
  bool is_found = false;
  const auto compare = [&](const auto& field) { is_found = is_found || field.name == name; };
  for_each_generation_field(compare);
  for_each_sampling_field(compare);
  for_each_beam_field(compare);
  return is_found;
}

void read_options(Members& members, GenerationOptions& options,
                  std::span<const std::string_view> left_out) {
  for_each_field(options, [&](const auto& field, auto& values) {
    const std::string_view name = field.name;
    if (std::ranges::count(left_out, name) != 0) return;
    const char* const second = name == "stop"             ? "stop_strings"
                               : name == "max_new_tokens" ? "max_tokens"
                                                          : nullptr;
    if (second != nullptr) {
      members.refuse_both(second, field.name);
      read_field(members, field, values, second);
    }
    read_field(members, field, values, field.name);
  });
  if (!members.flag("do_sample").value_or(true)) options.sampling.temperature = 0.0f;
}

std::uint64_t random_seed() {
  std::uint32_t bits = 0;
  if (fill_with_random(std::as_writable_bytes(std::span(&bits, 1)))) return bits;
  reject("this system gives no random numbers");
}

void read_beam_options(Members& members, BeamOptions& options) {
  members.ignore({"pad_token_id"});  // programs that use transformers give it
  for_each_beam_field([&](const auto& field) { read_field(members, field, options, field.name); });
}

std::optional<std::size_t> read_max_length(Members& members, std::optional<std::size_t> otherwise) {
  const auto length = members.count("max_length", 0, kMaxOptionTokens);
  for (const char* const name : {"max_tokens", "max_new_tokens"}) {
    if (members.find(name) != nullptr) return std::nullopt;
  }
  return length ? length : otherwise;
}

std::size_t new_tokens(std::size_t max_length, std::size_t prompt_tokens) {
  if (max_length > prompt_tokens) return max_length - prompt_tokens;
  reject("max_length: expected more than the number of the prompt's tokens, ", prompt_tokens,
         ", found ", max_length, ": give max_new_tokens");
}

Json option_list(const GenerationOptions& defaults, const GenerationOptions& of_command) {
  Json rows = Json::array();
  for_each_generation_field(
      [&](const auto& field) { rows.push_back(row_json(field, defaults, of_command)); });
  for_each_sampling_field([&](const auto& field) {
    rows.push_back(row_json(field, defaults.sampling, of_command.sampling));
  });
  for_each_beam_field(
      [&](const auto& field) { rows.push_back(row_json(field, BeamOptions{}, BeamOptions{})); });
  return rows;
}

}  // namespace gpt2
