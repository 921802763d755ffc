#include "cli/quantization_cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/fail.h"
#include "base/text.h"
#include "cli/default_text.h"
#include "cli/terminal/console.h"
#include "gpt2/score.h"

namespace gpt2::cli {

namespace {

// Returns short stories for children, written for this engine, because the bundled model was
// trained on nothing else; larger models can predict them, too. Each paragraph is one line, as in
// the training data.
std::string default_text() {
  std::string text;
  for (const std::string_view piece : kDefaultText) text += piece;
  return text;
}

Json json_of(const PerplexityComparison& found) {
  return {{"perplexity", found.perplexity},
          {"perplexity_change_percent", 100.0 * found.change},
          {"standard_error_percent", 100.0 * found.standard_error}};  // NaN becomes null in JSON
}

// Formats the result of json_of(), for example as "14.3975 -> 14.4012 (+0.03 % +- 0.08 %)".
std::string change_in_words(const Json& cost, int decimals) {
  const auto perplexity = cost["perplexity"].get<std::array<double, 2>>();
  const double error = cost["standard_error_percent"].get<double>();
  return format("%.6g -> %.6g (%+.*f %%", perplexity[0], perplexity[1], decimals,
                cost["perplexity_change_percent"].get<double>()) +
         (std::isnan(error) ? ")" : format(" +- %.*f %%)", decimals, error));
}

}  // namespace

Option& add_text_option(Options& options, std::string& file) {
  return options.add_file("--text", file,
                          "The text to measure perplexity on (default: built-in short stories)");
}

std::vector<TokenId> tokens_to_measure(const std::string& file,
                                       const std::optional<Tokenizer>& tokenizer) {
  const std::string text = file.empty() ? default_text() : read_input(file);
  std::vector<TokenId> tokens;
  if (tokenizer) tokens = tokenizer->encode(text);
  if (tokens.size() >= 2 || (!tokenizer && !text.empty())) return tokens;
  reject("--text ", file, ": expected a text of two tokens or more, found ", tokens.size());
}

Json quantization_cost(const Model& before, const Model& after, std::span<const TokenId> tokens) {
  Json cost = {{"bytes", {before.bytes_per_token(), after.bytes_per_token()}}, {"tokens", 0}};
  if (tokens.empty()) return cost;
  if (static_cast<std::size_t>(std::ranges::max(tokens)) >= before.config().vocab_size) return cost;
  Progress line("measuring perplexity");
  const Engine engine(after);
  const bool rounds = engine.kv_type() == KVType::f16;
  const double share = rounds ? 0.5 : 1.0;
  const PerplexityComparison found = compare_perplexity(
      Engine(before), engine, tokens, [&](double done) { line.part(share * done); });
  if (!std::isfinite(found.perplexity[0] + found.perplexity[1])) {
    throw Error(ErrorCode::invalid_file,
                before.description().files.back().string() +
                    ": expected a finite perplexity, found NaN or infinity: the weights are "
                    "damaged");
  }
  cost["tokens"] = found.tokens;
  cost["windows"] = found.windows;
  cost.update(json_of(found));
  cost["max_logit_change"] = found.max_logit_change;
  if (rounds) {
    const Engine exact(after, {.kv_type = KVType::f32});
    cost["kv"] = json_of(compare_perplexity(exact, engine, tokens,
                                            [&](double done) { line.part(share + share * done); }));
  }
  return cost;
}

std::string cost_in_words(const Json& cost) {
  const auto size = [](double bytes) {
    return bytes < 1e6 ? format("%.1f KB", 1e-3 * bytes) : format("%.1f MB", 1e-6 * bytes);
  };
  const auto read = cost["bytes"].get<std::array<double, 2>>();
  const std::string text =
      format("each token   reads %s -> %s of weights (%+.1f %%)\n", size(read[0]).c_str(),
             size(read[1]).c_str(), 100.0 * (read[1] / read[0] - 1.0));
  if (cost["tokens"] == 0) {
    return text + "perplexity   not measured: no tokenizer fits the model\n";
  }
  const std::string of_kv = cost.contains("kv") ? "  of which   " + change_in_words(cost["kv"], 3) +
                                                      " by f16 keys and values\n"
                                                : "";
  return text + "perplexity   " + change_in_words(cost, 2) +
         concat(" on ", cost["tokens"].get<std::size_t>(), " tokens in ",
                counted(cost["windows"].get<std::size_t>(), "window"), "\n") +
         of_kv +
         format("logits       change by at most %.3g\n", cost["max_logit_change"].get<double>());
}

}  // namespace gpt2::cli
