#include "cli/quantization_cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/fail.h"
#include "base/json.h"
#include "cli/console.h"
#include "generate/perplexity.h"

namespace gpt2::cli {

constexpr std::string_view kStory =
    R"(Once upon a time there was a small lighthouse at the end of a long beach. A girl named Nora lived
there with her grandfather and a grey cat. Every evening her grandfather climbed the stairs and lit the
lamp, so that the ships could find their way home.

One day the wind was very strong, and her grandfather hurt his foot. "I can not climb the stairs," he
said. "Who will light the lamp tonight?" Nora looked out of the window. The sea was dark and the waves
were high. Far away she saw the little red boat of her friend Tom and his father.

"I will do it," said Nora. She was afraid of the dark stairs, but she took a candle and began to climb.
The cat went with her. The wind made a noise like a big animal. Nora held the candle with both hands
and counted the steps. "Ninety-eight, ninety-nine, one hundred!" she said at last, and she opened the
door.

The lamp was cold and heavy. Nora did just what her grandfather had shown her. She cleaned the glass,
she turned the wheel, and she held the candle to the lamp. A warm yellow light came out of it and went
far over the sea. Nora laughed, and the cat closed its eyes because it was so bright.

Soon the red boat turned and came towards the beach. Tom and his father were wet and cold, but they
were safe. They all sat in the kitchen and drank hot soup. "We saw your light," said Tom. "Without it
we would have hit the rocks." Her grandfather smiled and put his hand on her shoulder. "Now there are
two people in this house who can light the lamp," he said. From that day on Nora climbed the stairs
every evening, and she was never afraid of the dark again.
)";

std::vector<TokenId> tokens_to_measure(const std::string& file,
                                       const std::optional<Tokenizer>& tokenizer) {
  const std::string text = file.empty() ? std::string(kStory) : read_file(file, kMaxTextBytes);
  std::vector<TokenId> tokens;
  if (tokenizer) tokens = tokenizer->encode(text);
  if (tokens.size() >= 2 || (!tokenizer && !text.empty())) return tokens;
  fail(ErrorCode::invalid_argument, "--text " + file,
       "expected a text of two tokens or more, found ", tokens.size());
}

Json quantization_cost(const Model& before, const Model& after, std::span<const TokenId> tokens) {
  Json cost = {{"bytes", {before.bytes_per_token(), after.bytes_per_token()}}, {"tokens", 0}};
  if (tokens.empty()) return cost;
  if (static_cast<std::size_t>(std::ranges::max(tokens)) >= before.config().vocab_size) return cost;
  Progress line("measuring perplexity");
  const Comparison found = compare(before, after, tokens, [&](double done) { line.part(done); });
  if (!std::isfinite(found.perplexity[0] + found.perplexity[1])) {
    fail(before.description().files.back().string(),
         "its perplexity is no number: weights are damaged");
  }
  cost["tokens"] = found.tokens;
  cost["perplexity"] = found.perplexity;
  cost["largest_logit_change"] = found.largest_logit_change;
  return cost;
}

std::string cost_in_words(const Json& cost) {
  const auto percent = [](const auto& pair) { return 100.0 * (pair[1] / pair[0] - 1.0); };
  const auto size = [](double bytes) {
    return bytes < 1e6 ? format("%.1f KB", 1e-3 * bytes) : format("%.1f MB", 1e-6 * bytes);
  };
  const auto read = cost["bytes"].get<std::array<double, 2>>();
  const std::string text = concat("each token   reads ", size(read[0]), " -> ", size(read[1]),
                                  format(" of weights (%+.1f %%)\n", percent(read)));
  if (cost["tokens"] == 0) {
    return text + "perplexity   not measured: no tokenizer goes with the model\n";
  }
  const auto perplexity = cost["perplexity"].get<std::array<double, 2>>();
  return text + format(
                    "perplexity   %.6g -> %.6g (%+.3g %%) on %zu tokens\n"
                    "logits       change by at most %.3g\n",
                    perplexity[0], perplexity[1], percent(perplexity),
                    cost["tokens"].get<std::size_t>(), cost["largest_logit_change"].get<double>());
}

}  // namespace gpt2::cli
