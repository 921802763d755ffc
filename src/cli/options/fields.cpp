#include "cli/options/fields.h"

#include <algorithm>

namespace gpt2::cli {

std::string option_name(std::string_view field) {
  std::string name = concat("--", field);
  std::ranges::replace(name, '_', '-');
  return name;
}

void add_fields(Options& options, OptionRole role, GenerationOptions& values,
                std::initializer_list<std::string_view> left_out) {
  for_each_field(values, [&](const auto& field, auto& of) {
    const bool is_left_out = std::ranges::count(left_out, std::string_view(field.name)) != 0;
    if (field.role == role && !is_left_out) add_row(options, field, of);
  });
}

void add_field(Options& options, std::string_view name, GenerationOptions& values,
               std::optional<OptionRange> range) {
  for_each_field(values, [&](auto field, auto& of) {
    if (field.name != name) return;
    field.range = range.value_or(field.range);
    add_row(options, field, of);
  });
}

void add_beam_fields(Options& options, BeamOptions& values) {
  for_each_beam_field([&](const auto& field) { add_row(options, field, values); });
}

std::vector<std::string> drawing_options() {
  std::vector<std::string> names;
  for_each_sampling_field([&names](const auto& field) {
    if (field.role == OptionRole::draws) names.push_back(option_name(field.name));
  });
  return names;
}

}  // namespace gpt2::cli
