#include "gpt2/score.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/fail.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/lines.h"
#include "cli/model.h"
#include "cli/options/request_options.h"
#include "cli/terminal/console.h"
#include "requests/answer/numbers.h"
#include "requests/run/run.h"

namespace gpt2::cli {
namespace {

constexpr const char* kScoreDetails =
    R"(FILE is a text; without it, the text is read from standard input. All of it counts, even a
newline at its end. It is scored in windows of --context tokens that begin --stride tokens apart.
Each window scores the tokens that the one before did not reach. The perplexity counts each of these
tokens once; HuggingFace's page weights windows instead, and the last line has its numbers. Numbers
after +- are standard errors over the windows.

With --per-line or --jsonl, each line of the input is a text of its own, and standard output has a
line of JSON for each, in the same order. --jsonl expects objects with "text" or with "token_ids".
With --choices, a line is an object such as {"context": "The cat", "choices": [" sat", " moon"]}; a
choice usually begins with a space. "best" is the index of the choice with the highest
log-probability. The record of a line that cannot be scored has "error", and the command ends with
status 1.

--logprobs N prints a line of JSON for each token: its log-probability given the tokens before it,
its rank (0: the likeliest) and the N likeliest tokens. With --json, --per-line and
--jsonl, the record of each text has these as "logprobs".

For files whose scoring takes hours, use gpt2 batch, which resumes after an interruption.

Examples:
  gpt2 score book.txt
  gpt2 score -m gpt2 --stride 256 --json < book.txt
  gpt2 score --per-line sentences.txt | jq .perplexity
  gpt2 score --jsonl texts.jsonl > scores.jsonl
  gpt2 score --logprobs 3 poem.txt
  gpt2 score --choices questions.jsonl | jq .best)";

struct ScoreSettings {
  ModelSettings model;
  std::string file = "-";
  bool tokens = false;
  bool per_line = false;
  bool jsonl = false;
  bool choices = false;
  bool as_json = false;
  nlohmann::json request = nlohmann::json::object();  // the options of the request
};

ScoreSettings read_score_settings(const Arguments& arguments) {
  ScoreSettings settings;
  Options options("gpt2 score",
                  "Measures how well a model predicts a text, or which continuation it prefers",
                  kScoreDetails);
  nlohmann::json& request = settings.request;
  options.add_file("FILE", settings.file, "The text; -: standard input");
  add_model_options(options, settings.model);
  add_number_member(options, "--context", request,
                    "Tokens of a window (default: as many as the model has positions)");
  add_number_member(options, "--stride", request,
                    "Tokens between the beginnings of windows (default: 512, or half a window if "
                    "that is less)");
  options.add_switch("--tokens", settings.tokens, "Read token ids; needs no tokenizer");
  options.add("--bos", "",
              "Put the token that begins a text before each text, so that its first token counts",
              [&request](const std::string&) { request["add_bos"] = true; });
  options.add_switch("--per-line", settings.per_line, "Score each line as a text of its own");
  options.add_switch("--jsonl", settings.jsonl, "The same for lines that are JSON objects")
      .excluded = {"--per-line"};
  options.add_switch("--choices", settings.choices, "Score the choices of JSON objects")
      .excluded = {"--per-line", "--jsonl", "--context", "--stride", "--logprobs"};
  options.add_switch("--json", settings.as_json,
                     "Print one JSON object for each text, as --per-line, --jsonl and --choices "
                     "always do");
  add_number_member(options, "--logprobs", request,
                    "Print each token's log-probability and rank, and the N likeliest tokens");
  options.parse(arguments);
  settings.model.find();
  return settings;
}

struct Scorer {
  const ScoreSettings& settings;
  Engine engine;
  std::optional<Tokenizer> tokenizer;

  // The other members of a request are those of the options.
  [[nodiscard]] RequestContext context() const {
    return {tokenizer, engine.model().config(), settings.request};
  }

  [[nodiscard]] ScoringRequest read(const nlohmann::json& body) const {
    return settings.choices ? read_choices_to_score(body, context())
                            : read_texts_to_score(body, context());
  }
};

std::string in_words(const Estimate& number) {
  const std::string value = format("%.6g", number.value);
  if (std::isnan(number.standard_error)) return value;
  return value + format(" +- %.2g", number.standard_error);
}

std::string perplexity_in_words(const Perplexity& found, const ScoreOptions& options) {
  std::string text =
      concat("tokens         ", found.tokens, " in ", counted(found.windows, "window"), " of ",
             options.context, " tokens, stride ", options.stride, "\n");
  text += "perplexity     " + in_words(found.by_token) + " by token\n";
  if (found.bytes > 0) {
    if (found.words > 0) {
      text += "               " + in_words(found.by_word) + " by word (" +
              counted(found.words, "word") + ")\n";
    }
    text += "               " + in_words(found.by_byte) + " by byte (" +
            counted(found.bytes, "byte") + ")\n";
    text += "bits per byte  " + in_words(found.bits_per_byte) + '\n';
  }
  return text + format("HuggingFace    %.6g by its current recipe, %.6g by its older one\n",
                       found.hf_weighted, found.hf_unweighted);
}

// Prints the result of a text.
void report(const Scorer& scorer, const ScoringRequest& request, const ScoringResult& result) {
  const Model& model = scorer.engine.model();
  if (scorer.settings.as_json) {
    return write_stdout(line_of(scoring_json(request, result, model, scorer.tokenizer)));
  }
  const std::vector<TokenId>& text = request.texts[0];
  const TextScore& score = result.texts[0];
  if (!request.with_logprobs) {
    const Perplexity found = checked_perplexity(model, scorer.tokenizer, text, score);
    return write_stdout(perplexity_in_words(found, request.options));
  }
  std::string lines;
  for (std::size_t i = 0; i < text.size(); ++i) {
    lines += line_of(logprob_json(scorer.tokenizer, text[i], score.tokens[i]));
  }
  write_stdout(lines);
}

ScoringRequest read_text(const Scorer& scorer) {
  const std::string input = read_input(scorer.settings.file);
  try {
    ScoringRequest request = scorer.read({{"text", text_or_ids(input, scorer.context())}});
    note_lost_bytes(request.lost_bytes, input.size());
    return request;
  } catch (const Error& error) {
    throw Error(error.code(), shown_input(scorer.settings.file) + ": " + error.what());
  }
}

void score_text(const Scorer& scorer) {
  const ScoringRequest request = read_text(scorer);
  Progress progress("scoring " + shown_input(scorer.settings.file));
  const auto results =
      run_scoring(scorer.engine, {&request, 1}, [&](double share) { progress.part(share); });
  progress.done();
  report(scorer, request, results[0]);
}

void score_each_line(const Scorer& scorer) {
  const ScoreSettings& settings = scorer.settings;
  const auto read = [&](const std::string& line) {
    return scorer.read(request_of(line, settings.choices || settings.jsonl, scorer.context()));
  };
  const auto answer = [&](const auto& group) {
    return gpt2::score_lines(scorer.engine, scorer.tokenizer, group);
  };
  answer_lines(settings.file, "scoring", read, &ScoringRequest::has_same_options, answer);
}

}  // namespace

int score(const Arguments& arguments) {
  const ScoreSettings settings = read_score_settings(arguments);
  const Engine engine(load_model(settings.model), settings.model.engine);
  Scorer scorer = {settings, engine, {}};
  if (!settings.tokens) {
    scorer.tokenizer =
        settings.jsonl ? find_tokenizer(settings.model) : load_tokenizer(settings.model);
  }
  // A mistake in an option is found before a text is read.
  const nlohmann::json example = settings.choices
                                     ? nlohmann::json{{"context", {0}}, {"choices", {{0}}}}
                                     : nlohmann::json{{"text", {0, 0}}};
  read_arguments(settings.request, [&] { return scorer.read(example); });
  if (settings.choices || settings.per_line || settings.jsonl) {
    score_each_line(scorer);
  } else {
    score_text(scorer);
  }
  return 0;
}

}  // namespace gpt2::cli
