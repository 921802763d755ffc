#include "cli/score_settings.h"

#include <utility>

namespace gpt2::cli {
namespace {

constexpr const char* kSummary =
    R"(FILE is a text; without it, the text is read from standard input. All of it counts, even a
newline at its end, as on HuggingFace's page on perplexity. It is scored in windows of --context
tokens that begin --stride tokens apart. Each window scores the tokens that the one before did not
reach, except its own first token, which nothing predicts. The perplexity counts each of these
tokens once. HuggingFace's page weights windows instead; the last line has its number, and the one
that older versions of the page computed.

Perplexity by word and by byte can be compared between models with different tokenizers. Words are
separated by white space. Numbers after +- are standard errors over the windows; a text that fits in
one window has none.

With --per-line or --jsonl, each line of the input is a text of its own, and standard output has a
line of JSON for each, in the same order. --jsonl expects objects with "text" or with "token_ids".
With --choices, a line is an object such as {"context": "The cat", "choices": [" sat", " moon"]}; a
choice usually begins with a space. "best" is the index of the choice with the highest
log-probability, and there is one by token and by byte. Texts may also be given as lists of ids. The
record of a line that cannot be scored has "error", and the command ends with status 1.

--logprobs K prints a line of JSON for each token: its log-probability given the tokens before it,
its rank (0: the likeliest) and the K likeliest tokens (default 0). With --json, --per-line and
--jsonl, the record of each text has these as "logprobs".

A context and a choice are scored as one sequence, without windows. Together they may have at most
one token more than the model has positions.

For files whose scoring takes hours, use gpt2 batch: it scores the lines that --jsonl and --choices
read, resumes after an interruption, and shares the lines among machines.

)";

constexpr const char* kExamples = R"(Examples:
  gpt2 score book.txt
  gpt2 score -m gpt2 --stride 256 --json < book.txt
  gpt2 score --per-line sentences.txt | jq .perplexity
  gpt2 score --logprobs 3 poem.txt
  gpt2 score --choices questions.jsonl | jq .best)";

void add_format_options(CLI::App& app, ScoreSettings& settings) {
  add_switch(app, "--per-line", settings.per_line, "Score each line as a text of its own");
  add_switch(app, "--jsonl", settings.jsonl, "The same for lines that are JSON objects")
      ->excludes("--per-line");
  add_switch(app, "--choices", settings.choices, "Score the choices of JSON objects")
      ->excludes("--per-line", "--jsonl", "--context", "--stride");
  add_switch(app, "--json", settings.as_json,
             "Print one JSON object for each text, as --per-line, "
             "--jsonl and --choices always do");
  const auto set_logprobs = [&settings](const std::string& text) {
    settings.with_logprobs = true;
    if (text.empty() || read_number(text, settings.score.top_logprobs)) return;
    throw UsageError("--logprobs", "expected a whole number, found '" + text +
                                       "'; without a number, --logprobs must be the last argument");
  };
  app.add_option_function<std::string>("--logprobs", set_logprobs,
                                       "Print each token's log-probability and rank, and the K "
                                       "likeliest tokens")
      ->option_text("[K]")
      ->expected(0, 1)
      ->excludes("--choices");
}

}  // namespace

ScoreSettings read_score_settings(Arguments arguments) {
  constexpr std::size_t kMost = std::size_t{1} << 30;
  ScoreSettings settings;
  CLI::App app("Measures how well a model predicts a text, or which continuation it prefers",
               "gpt2 score");
  app.footer(std::string(kSummary) + kExamples);
  app.add_option("FILE", settings.file, "The text; -: standard input");
  add_model_option(app, settings.model);
  add_dtype_option(app, settings.dtype);
  add_kv_option(app, settings.kv_type);
  add_threads_option(app, settings.threads);
  add_number(app, "--context", settings.score.context, 2, kMost,
             "Tokens of a window; 0: as many as the model has positions", true);
  add_number(app, "--stride", settings.score.stride, 1, kMost,
             "Tokens between the beginnings of windows; 0: 512, or half a window if that is less",
             true);
  add_switch(app, "--tokens", settings.tokens, "Read token ids; needs no tokenizer");
  add_format_options(app, settings);
  parse(app, std::move(arguments));
  return settings;
}

}  // namespace gpt2::cli
