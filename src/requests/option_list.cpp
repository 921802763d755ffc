#include "requests/option_list.h"

#include <nlohmann/json.hpp>
#include <type_traits>

#include "generate/options/option_codec.h"
#include "requests/options.h"

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

template <class Field, class Values>
Json row_json(const Field& of_table, const Values& defaults, const Values& of_command) {
  using T = typename Field::Value;
  const Field field = of_requests(of_table);
  const OptionForm form = OptionCodec<T>::form(field.range);
  Json row = {{"name", field.name},
              {"role", name_of(field.role)},
              {"origin", name_of(field.origin)},
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
