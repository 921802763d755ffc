#include "cli/quantization_cost.h"

#include <cmath>
#include <cstdio>

#include "base/json.h"
#include "cli/args.h"
#include "gpt2/error.h"
#include "gpt2/runtime.h"
#include "gpt2/tokenizer.h"

namespace gpt2::cli {
namespace {

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

std::string line(const char* format, double before, double after) {
  char text[120];
  std::snprintf(text, sizeof text, format, before, after, 100.0 * (after / before - 1.0));
  return text;
}

}  // namespace

std::string text_to_measure(const std::string& file) {
  std::string text = file.empty() ? std::string(kStory) : read_file(file, kMaxTextBytes);
  if (text.empty()) throw Error(ErrorCode::invalid_argument, file + ": holds no text to measure");
  return text;
}

QuantizationCost quantization_cost(const Model& before, const Model& after,
                                   const std::filesystem::path& directory, std::string_view text) {
  QuantizationCost cost{.bytes = {before.bytes_per_token(), after.bytes_per_token()}};
  try {
    const auto tokens = Tokenizer::load(directory).encode(text);
    cost.comparison = compare(before, after, tokens, thread_count());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
  }
  for (const double perplexity : cost.comparison.perplexity) {
    if (std::isfinite(perplexity)) continue;
    throw Error(ErrorCode::invalid_file,
                directory.string() + ": its perplexity is no number: weights are damaged");
  }
  return cost;
}

std::string to_string(const QuantizationCost& cost) {
  const Comparison& comparison = cost.comparison;
  std::string lines =
      line("size         %.1f MB -> %.1f MB (%+.1f %%)\n",
           static_cast<double>(cost.bytes[0]) * 1e-6, static_cast<double>(cost.bytes[1]) * 1e-6);
  if (comparison.tokens == 0) {
    return lines + "perplexity   not measured: the model has no tokenizer\n";
  }
  lines += line("perplexity   %.4f -> %.4f (%+.3f %%)", comparison.perplexity[0],
                comparison.perplexity[1]);
  char rest[120];
  std::snprintf(rest, sizeof rest, " on %zu tokens\nlogits       change by at most %.3g\n",
                comparison.tokens, comparison.largest_logit_change);
  return lines + rest;
}

}  // namespace gpt2::cli
