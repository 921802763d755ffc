#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "gpt2/option_fields.h"

// The values of options as JSON. Everything that reads options from JSON or writes them uses these
// functions: generation_config.json and the lines of `gpt2 batch`.

namespace gpt2 {

/// How JSON writes a value of type T. read() returns false, and may change `value`, if the JSON has
/// another form or a number outside the range. form() describes what read() accepts, for messages.
/// There is a specialization for each type of value in the table of options.
template <class T>
struct OptionJson {
  static bool read(const nlohmann::json& json, const OptionRange& range, T& value);
  static nlohmann::json write(const T& value);
  static std::string form(const OptionRange& range);
};

/// If the object has a member with the name of the field that is not null, sets the option to its
/// value. Throws Error(invalid_file), which names the member, for a value that the option cannot
/// have. Returns whether there was such a member.
///
///   for_each_sampling_field([&](const auto& field) { read_option(fields, field, sampling); });
template <class Options, class T>
bool read_option(const JsonFields& fields, const OptionField<Options, T>& field, Options& options) {
  const nlohmann::json* const json = fields.find(field.name);
  if (json == nullptr) return false;
  if (!OptionJson<T>::read(*json, field.range, options.*field.member)) {
    fields.refuse(field.name, OptionJson<T>::form(field.range));
  }
  return true;
}

}  // namespace gpt2
