#include "cli/sampling_settings.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"

namespace gpt2::cli {
namespace {

// Reads token ids that are separated by commas. Returns false if `text` has anything else.
bool read_ids(std::string_view text, std::vector<TokenId>& ids) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    TokenId& id = ids.emplace_back();
    if (!read_number(text.substr(begin, end - begin), id) || id < 0) return false;
    begin = end + 1;
  }
  return true;
}

std::vector<TokenId> parse_ids(const std::string& option, const std::string& text) {
  std::vector<TokenId> ids;
  if (read_ids(text, ids)) return ids;
  throw UsageError(option, "expected token ids such as 11,13, found '" + text + "'");
}

// Parses IDS=BIAS, with at most `max_ids` ids. `form` describes it.
SequenceBias parse_bias(const std::string& option, const std::string& text, const char* form,
                        std::size_t max_ids, float low, float high) {
  const std::size_t equals = std::min(text.find('='), text.size());
  SequenceBias result = {.ids = {}, .bias = 0.0f};
  const bool is_bias = equals < text.size() &&
                       read_number(std::string_view(text).substr(equals + 1), result.bias) &&
                       result.bias >= low && result.bias <= high &&
                       read_ids(std::string_view(text).substr(0, equals), result.ids) &&
                       result.ids.size() <= max_ids;
  if (is_bias) return result;
  throw UsageError(option, std::string("expected ") + form + " with a bias from " +
                               number_text(low) + " to " + number_text(high) + ", found '" +
                               text + "'");
}

// Adds an option whose value is read by `assign`, which throws UsageError if the value is invalid.
template <class Assign>
CLI::Option* add_value(CLI::App& app, const std::string& names, const char* form,
                       const Assign& assign, const std::string& help) {
  return app
      .add_option_function<std::string>(
          names, [=](const std::string& text) { assign(shown_name(names), text); }, help)
      ->option_text(form);
}

// The same for an option that may be given several times.
template <class Assign>
CLI::Option* add_values(CLI::App& app, const std::string& name, const char* form,
                        const Assign& assign, const std::string& help) {
  return app
      .add_option_function<std::vector<std::string>>(
          name,
          [=](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) assign(name, text);
          },
          help + "; may be repeated")
      ->option_text(form)
      ->allow_extra_args(false);
}

void add_ids(CLI::App& app, const std::string& name, std::vector<TokenId>& ids,
             const std::string& help) {
  const auto assign = [&ids](const std::string& option, const std::string& text) {
    ids = parse_ids(option, text);
  };
  add_value(app, name, "IDS", assign, help);
}

void add_texts(CLI::App& app, const std::string& name, std::vector<std::string>& texts,
               const std::string& help) {
  const auto assign = [&texts](const std::string& option, const std::string& text) {
    if (text.empty()) throw UsageError(option, "expected a text, found ''");
    texts.push_back(text);
  };
  CLI::Option* const option = add_values(app, name, "TEXT", assign, help);
  if (app.get_option_no_throw("--tokens") != nullptr) option->excludes("--tokens");
}

void add_seed(CLI::App& app, GenerateSettings& settings) {
  const auto assign = [&settings](const std::string& option, const std::string& text) {
    std::uint64_t& seed = settings.generation.sampling.seed;
    settings.draws_seed = text == "random";
    if (settings.draws_seed) {
      std::uint32_t bits = 0;  // 32 bits only, because a short number is easier to type again
      if (::getentropy(&bits, sizeof bits) != 0) refuse("this system gives no random numbers");
      seed = bits;
    } else if (!read_number(text, seed)) {
      throw UsageError(option, "expected 'random' or a whole number from 0 to " +
                                   std::to_string(UINT64_MAX) + ", found '" + text + "'");
    }
  };
  add_value(app, "-s,--seed", "N", assign,
            "Different numbers give different texts; 'random' draws a number "
            "and prints it (default 0)");
}

void add_drawing(CLI::App& app, GenerateSettings& settings, bool& greedy) {
  SamplingOptions& sampling = settings.generation.sampling;
  add_number(app, "--temperature", sampling.temperature, SamplingOptions::kMinTemperature, 100,
             "Lower is more predictable, higher is more varied, 0 is the same as --greedy", true);
  add_number(app, "--top-k", sampling.top_k, 0, kMaxTokens,
             "Draw from the N most likely tokens; 0: from all");
  add_number(app, "--top-p", sampling.top_p, 0, 1,
             "Draw from the most likely tokens that together have at least this probability");
  add_number(app, "--min-p", sampling.min_p, 0, 1,
             "Draw from the tokens that have at least N times the "
             "probability of the most likely token");
  add_number(app, "--typical-p", sampling.typical_p, 1e-6f, 1,
             "Draw from the tokens whose information is closest to the "
             "entropy and that together have at least this probability");
  add_number(app, "--epsilon-cutoff", sampling.epsilon_cutoff, 0, 0.9999f,
             "Draw from tokens with at least this probability");
  add_number(app, "--eta-cutoff", sampling.eta_cutoff, 0, 0.9999f,
             "The same, but with a lower limit if the probability is spread over many tokens");
  add_seed(app, settings);
  CLI::Option* const likeliest =
      add_switch(app, "--greedy", greedy, "Always take the most likely token");
  for (const char* const option : {"--temperature", "--top-k", "--top-p", "--min-p", "--typical-p",
                                   "--epsilon-cutoff", "--eta-cutoff", "--seed"}) {
    likeliest->excludes(option);
  }
}

void add_repetition(CLI::App& app, SamplingOptions& sampling) {
  add_number(app, "--repetition-penalty", sampling.repetition_penalty, SamplingOptions::kMinPenalty,
             SamplingOptions::kMaxPenalty,
             "For tokens that the text already has: divide positive "
             "scores by N, and multiply negative ones by N");
  add_number(app, "--no-repeat-ngram-size", sampling.no_repeat_ngram_size, 0, kMaxTokens,
             "Never repeat a sequence of N tokens; 0: allow it");
  add_number(app, "--presence-penalty", sampling.presence_penalty, -2, 2,
             "OpenAI's: subtract N from the scores of tokens that the continuation already has");
  add_number(app, "--frequency-penalty", sampling.frequency_penalty, -2, 2,
             "OpenAI's: subtract N from a token's score for each time it is in the continuation");
}

void add_tokens(CLI::App& app, GenerateSettings& settings) {
  SamplingOptions& sampling = settings.generation.sampling;
  add_texts(app, "--bad-words", settings.bad_words,
            "Never write the tokens of TEXT, with or without a space before it");
  add_ids(app, "--suppress-tokens", sampling.suppress_tokens, "Never choose these tokens: 11,13");
  add_ids(app, "--begin-suppress-tokens", sampling.begin_suppress_tokens,
          "Do not choose these tokens right after the prompt");
  const auto add_logit_bias = [&sampling](const std::string& option, const std::string& text) {
    const SequenceBias bias = parse_bias(option, text, "ID=BIAS", 1, -100.0f, 100.0f);
    sampling.logit_bias.emplace_back(bias.ids.front(), bias.bias);
  };
  add_values(app, "--logit-bias", "ID=BIAS", add_logit_bias, "Add BIAS to the score of a token");
  const auto add_sequence_bias = [&sampling](const std::string& option, const std::string& text) {
    constexpr float kMin = -std::numeric_limits<float>::infinity();  // which removes the token
    sampling.sequence_bias.push_back(
        parse_bias(option, text, "IDS=BIAS", text.size(), kMin, SamplingOptions::kMaxBias));
  };
  add_values(app, "--sequence-bias", "IDS=BIAS", add_sequence_bias,
             "Add BIAS to the last of these tokens if the others come before it");
  const auto set_bos = [&sampling](const std::string& option, const std::string& text) {
    const auto ids = parse_ids(option, text);
    if (ids.size() != 1) throw UsageError(option, "expected one token id, found '" + text + "'");
    sampling.forced_bos_token_id = ids.front();
  };
  add_value(app, "--forced-bos-token-id", "ID", set_bos,
            "The token to begin with after a prompt of one token");
  add_switch(app, "--remove-invalid-values", sampling.remove_invalid_values,
             "Replace NaN scores by 0 and infinite ones by the largest finite numbers");
  add_switch(app, "--renormalize-logits", sampling.renormalize_logits,
             "Turn the scores into log-probabilities, which changes no probability");
}

void add_lengths(CLI::App& app, GenerateSettings& settings) {
  GenerationOptions& generation = settings.generation;
  SamplingOptions& sampling = generation.sampling;
  add_number(app, "-n,--max-new-tokens", generation.max_new_tokens, 0, kMaxTokens,
             "Max length of the continuation, in tokens");
  add_number(app, "--min-new-tokens", sampling.min_new_tokens, 0, kMaxTokens,
             "Min length of the continuation, in tokens, unless --stop ends it");
  add_number(app, "--min-length", sampling.min_length, 0, kMaxTokens,
             "The same, but including the prompt");
  add_texts(app, "--stop", generation.stop, "End the text before TEXT");
  CLI::Option* const ignore = add_switch(app, "--ignore-eos", generation.ignore_eos,
                                         "Continue after a token that would end the text");
  add_ids(app, "--forced-eos-token-id", sampling.forced_eos_token_id,
          "The last token of a text that reaches its max length");
  const auto set_decay = [&sampling](const std::string& option, const std::string& text) {
    const std::size_t comma = std::min(text.find(','), text.size());
    ExponentialDecay decay = {};
    const bool is_decay = comma < text.size() && read_number(text.substr(0, comma), decay.start) &&
                          read_number(text.substr(comma + 1), decay.factor) &&
                          decay.factor >= double{SamplingOptions::kMinPenalty} &&
                          decay.factor <= double{SamplingOptions::kMaxPenalty};
    if (!is_decay) {
      throw UsageError(option,
                       "expected a number of tokens and a factor from 1e-06 to 1e+06 such "
                       "as 20,1.05, found '" +
                           text + "'");
    }
    sampling.exponential_decay_length_penalty = decay;
  };
  add_value(app, "--exponential-decay-length-penalty", "START,FACTOR", set_decay,
            "After START new tokens, make the end of the text likelier with each further token");
  for (const char* const option :
       {"--min-new-tokens", "--min-length", "--exponential-decay-length-penalty"}) {
    ignore->excludes(option);
  }
}

}  // namespace

void add_sampling_options(CLI::App& app, GenerateSettings& settings, bool& greedy) {
  app.option_defaults()->group("How tokens are drawn");
  add_drawing(app, settings, greedy);
  app.option_defaults()->group("How long the text is");
  add_lengths(app, settings);
  app.option_defaults()->group("Less repetition");
  add_repetition(app, settings.generation.sampling);
  app.option_defaults()->group("Single tokens and their scores");
  add_tokens(app, settings);
  app.option_defaults()->group("Options");
}

}  // namespace gpt2::cli
