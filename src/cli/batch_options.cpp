#include "cli/batch_options.h"

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "cli/args.h"
#include "cli/batch_input.h"
#include "cli/console.h"
#include "cli/sampling_settings.h"
#include "cli/take_sampling.h"
#include "gpt2/generation_config.h"

namespace gpt2::cli {
namespace {

using nlohmann::json;

// Reads the options that GenerationConfig reads, too. do_sample is true unless the line sets it.
void read_sampling(Members& members, const GenerationConfig& config, SamplingOptions& sampling) {
  take_sampling(sampling, config.sampling,
                [&](const std::string& name) { return members.find(name) != nullptr; });
  if (members.find("do_sample") != nullptr && !config.do_sample) sampling.temperature = 0.0f;
}

// OpenAI's {"50256": -100}.
void read_logit_bias(Members& members, SamplingOptions& sampling) {
  const char* const expected = "an object of token ids and biases such as {\"11\": -100}";
  const json* const biases = members.find("logit_bias");
  if (biases == nullptr) return;
  if (!biases->is_object()) members.refuse("logit_bias", expected);
  sampling.logit_bias.clear();
  for (const auto& [name, bias] : biases->items()) {
    TokenId id = 0;
    if (!read_number(name, id) || id < 0 || !bias.is_number())
      members.refuse("logit_bias", expected);
    sampling.logit_bias.emplace_back(id, static_cast<float>(bias.get<double>()));
  }
}

void read_stop(Members& members, const char* name, std::vector<std::string>& stop) {
  const char* const expected = "a text or an array of texts, none of them empty";
  const json* const value = members.find(name);
  if (value == nullptr) return;
  const json texts = value->is_array() ? *value : json::array({*value});
  stop.clear();
  for (const json& text : texts) {
    if (!text.is_string() || text == "") members.refuse(name, expected);
    stop.push_back(text.get<std::string>());
  }
}

void read_overflow(Members& members, GenerationOptions& options) {
  if (const auto overflow = members.text("overflow")) {
    if (overflow != "stop" && overflow != "slide") members.refuse("overflow", "stop or slide");
    options.overflow = overflow == "slide" ? Overflow::slide : Overflow::stop;
  }
  options.keep = members.count("keep", 0, 1 << 24).value_or(options.keep);
}

}  // namespace

std::size_t new_tokens(std::size_t max_length, std::size_t prompt_tokens) {
  if (max_length > prompt_tokens) return max_length - prompt_tokens;
  refuse(
      format("max_length is %zu and includes the prompt, which has %zu tokens: give "
             "max_new_tokens",
             max_length, prompt_tokens));
}

void read_options(Members& members, const json& object, std::size_t prompt_tokens,
                  GenerationOptions& options) {
  json sampled = object;
  for (const char* const other : {"num_beams", "num_return_sequences", "stop_strings"}) {
    sampled.erase(other);  // GenerationConfig refuses them
  }
  if (members.find("do_sample") == nullptr) sampled["do_sample"] = true;
  const auto config = GenerationConfig::parse(sampled.dump(), "the line");
  SamplingOptions& sampling = options.sampling;
  read_sampling(members, config, sampling);
  read_logit_bias(members, sampling);
  sampling.presence_penalty =
      members.number("presence_penalty").value_or(sampling.presence_penalty);
  sampling.frequency_penalty =
      members.number("frequency_penalty").value_or(sampling.frequency_penalty);
  sampling.seed =
      members.count("seed", 0, std::numeric_limits<std::size_t>::max()).value_or(sampling.seed);
  options.ignore_eos = members.flag("ignore_eos").value_or(options.ignore_eos);
  for (const char* const name : {"stop", "stop_strings"}) read_stop(members, name, options.stop);
  if (const auto count = members.count("logprobs", 0, kMaxLogprobs)) options.top_logprobs = count;

  read_overflow(members, options);
  if (const auto length = members.count("max_length", 0, kMaxTokens)) {
    options.max_new_tokens = new_tokens(*length, prompt_tokens);
  }
  for (const char* const name : {"max_tokens", "max_new_tokens"}) {
    options.max_new_tokens = members.count(name, 0, kMaxTokens).value_or(options.max_new_tokens);
  }
}

}  // namespace gpt2::cli
