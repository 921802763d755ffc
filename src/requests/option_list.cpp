#include "requests/option_list.h"

#include <nlohmann/json.hpp>
#include <type_traits>

#include "requests/options.h"
#include "generate/options/option_json.h"

namespace gpt2 {
namespace {

const char* name_of(OptionRole role) {
  switch (role) {
    case OptionRole::draws: return "draws";
    case OptionRole::limits_length: return "limits_length";
    case OptionRole::penalizes: return "penalizes";
    case OptionRole::names_tokens: return "names_tokens";
    case OptionRole::searches: return "searches";
    case OptionRole::reports: break;
  }
  return "reports";
}

const char* name_of(OptionOrigin origin) {
  switch (origin) {
    case OptionOrigin::huggingface: return "huggingface";
    case OptionOrigin::openai: return "openai";
    case OptionOrigin::own: break;
  }
  return "own";
}

template <class T>
constexpr const char* type_of() {
  if (std::is_same_v<T, bool>) return "boolean";
  if (std::is_integral_v<T> || std::is_same_v<T, std::optional<std::size_t>>) return "integer";
  if (std::is_floating_point_v<T>) return "number";
  if (std::is_same_v<T, std::optional<TokenId>>) return "integer";
  if (std::is_same_v<T, std::vector<std::string>>) return "texts";
  return std::is_enum_v<T> ? "choice" : "json";
}

template <class T>
Json choices_of() {
  if constexpr (std::is_same_v<T, Overflow>) {
    return {"stop", "slide"};
  } else {
    return {false, true, "never"};
  }
}

template <class T>
Json value_json(const T& value) {
  if constexpr (std::is_same_v<T, float>) {
    return short_number(value);
  } else {
    return OptionJson<T>::write(value);
  }
}

template <class Field, class Values>
Json row_json(const Field& of_table, const Values& defaults, const Values& of_command) {
  using T = typename Field::Value;
  const Field field = of_requests(of_table);
  Json row = {{"name", field.name},
              {"role", name_of(field.role)},
              {"origin", name_of(field.origin)},
              {"type", type_of<T>()}};
  if constexpr (std::is_enum_v<T>) row["choices"] = choices_of<T>();
  constexpr bool has_range = std::is_arithmetic_v<T> || std::is_same_v<T, std::optional<size_t>>;
  if (has_range && !std::is_same_v<T, bool>) {
    row["min"] = field.range.min;
    row["max"] = field.range.max;
    row["also"] = field.range.also;
  }
  row["form"] = OptionJson<T>::form(field.range);
  row["default"] = value_json(defaults.*field.member);
  row["command_default"] = value_json(of_command.*field.member);
  row["help"] = field.help;
  return row;
}

}  // namespace

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
