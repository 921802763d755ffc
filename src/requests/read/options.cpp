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

// Sets the option of a row from the member with its name.
template <class Field, class Values>
void read_field(Members& members, const Field& row, Values& values, std::size_t vocab_size) {
  const nlohmann::json* const value = members.find(row.name);
  if (value == nullptr) return;
  const Field field = of_requests(row);
  using Codec = OptionCodec<typename Field::Value>;
  if (!Codec::read(*value, field.range, values.*field.member)) {
    const bool is_seed = std::string_view(row.name) == "seed";
    members.refuse(row.name,
                   concat(Codec::form(field.range).json, is_seed ? " or \"random\"" : ""));
  }
  try {
    check_ids(members.name(row.name), values.*field.member, vocab_size);
  } catch (const Error& error) {
    throw RequestError(error.what(), members.name(row.name));
  }
}

}  // namespace

bool is_option(std::string_view name) {
  bool is_found = false;
  for_each_option([&](const auto& field) { is_found = is_found || field.name == name; });
  return is_found;
}

void read_options(Members& members, GenerationOptions& options, std::size_t vocab_size,
                  std::span<const std::string_view> left_out) {
  for_each_field(options, [&](const auto& field, auto& values) {
    if (std::ranges::count(left_out, std::string_view(field.name)) != 0) return;
    read_field(members, field, values, vocab_size);
  });
  // By default, "do_sample" does not count beside the request's own temperature.
  if (!members.flag("do_sample").value_or(true)) options.sampling.temperature = 0.0f;
}

std::uint64_t random_seed() {
  std::uint32_t bits = 0;
  if (fill_with_random(std::as_writable_bytes(std::span(&bits, 1)))) return bits;
  reject("this system gives no random numbers");
}

// Each text is forbidden both as it is and with a space before it, because the first token of a
// word inside a text includes the space before it.
void read_bad_words(Members& members, SamplingOptions& options,
                    const std::optional<Tokenizer>& tokenizer) {
  BadWords bad;
  read_field(members, kBadWords, bad, 0);
  if (bad.words.empty()) return;
  if (!tokenizer) members.reject("bad_words", "there is no tokenizer: give \"bad_words_ids\"");
  for (const std::string& word : bad.words) {
    std::vector<std::string> forms = {word};
    if (!word.starts_with(' ')) forms.push_back(' ' + word);
    for (const std::string& form : forms) {
      auto [ids, ranges, lost] = tokenizer->encode_text(form, {.add_special_tokens = false});
      if (ids.empty() || lost != 0) {
        members.reject("bad_words", "the model's vocabulary has no tokens for ", quote(form),
                       ": leave it out, because the model cannot write it");
      }
      options.bad_words_ids.push_back(std::move(ids));
    }
  }
}

void read_beam_options(Members& members, BeamOptions& options) {
  members.ignore({"pad_token_id"});  // programs that use transformers give it
  for_each_beam_field([&](const auto& field) {
    // The readers of requests read this one, which is a number of texts without a search.
    if (std::string_view(field.name) == "num_return_sequences") return;
    read_field(members, field, options, 0);
  });
}

nlohmann::json hf_defaults(const std::filesystem::path& model) {
  const GenerationConfig config = GenerationConfig::load(model);
  nlohmann::json defaults = nlohmann::json::parse(request_json(config).text());
  defaults.erase("do_sample");
  if (!config.do_sample) defaults["temperature"] = 0;
  return defaults;
}

Json request_json(const GenerationConfig& config) {
  Json result = {{"do_sample", config.do_sample}};
  const bool searches = config.beams.num_beams > 1;
  const auto add = [&result](const auto& field, const auto& options, const auto& defaults) {
    using Codec = OptionCodec<typename std::remove_cvref_t<decltype(field)>::Value>;
    const Json value = Codec::write(options.*field.member);
    const bool is_default = value.text() == Codec::write(defaults.*field.member).text();
    if (!is_default) result.add(field.name, value);
  };
  for_each_sampling_field([&](const auto& field) {
    const bool is_unused = field.role == OptionRole::draws && !config.do_sample;
    if (!is_unused) add(field, config.sampling, request_defaults().sampling);
  });
  if (searches) {
    for_each_beam_field([&](const auto& field) { add(field, config.beams, BeamOptions()); });
  } else if (config.num_return_sequences != 1) {
    result.add("num_return_sequences", config.num_return_sequences);
  }
  if (config.max_new_tokens) result.add("max_new_tokens", *config.max_new_tokens);
  if (config.max_length) result.add("max_length", *config.max_length);
  return result;
}

}  // namespace gpt2
