#include "requests/read/options.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/fail.h"
#include "base/system/process.h"
#include "generate/options/option_codec.h"
#include "requests/read/completion_request.h"

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

nlohmann::ordered_json request_json(const GenerationConfig& config) {
  nlohmann::ordered_json result = nlohmann::ordered_json::object();
  const bool searches = config.beams.num_beams > 1;
  const auto add = [&result](const auto& field, const auto& options, const auto& defaults) {
    using Codec = OptionCodec<typename std::remove_cvref_t<decltype(field)>::Value>;
    const nlohmann::json value = Codec::write(options.*field.member);
    if (value != Codec::write(defaults.*field.member)) result[field.name] = value;
  };
  result["do_sample"] = config.do_sample;
  for_each_sampling_field([&](const auto& field) {
    const bool is_unused = field.role == OptionRole::draws && !config.do_sample;
    if (!is_unused) add(field, config.sampling, request_defaults().sampling);
  });
  if (searches) {
    for_each_beam_field([&](const auto& field) { add(field, config.beams, BeamOptions()); });
  } else if (config.num_return_sequences != 1) {
    result["num_return_sequences"] = config.num_return_sequences;
  }
  if (config.max_new_tokens) {
    result["max_new_tokens"] = *config.max_new_tokens;
  } else {
    result["max_length"] = config.max_length;
  }
  return result;
}

}  // namespace gpt2
