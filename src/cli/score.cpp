#include "gpt2/score.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/fail.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/lines.h"
#include "cli/model.h"
#include "cli/options/writing.h"
#include "cli/system/system.h"
#include "cli/terminal/console.h"
#include "generate/score/score_tasks.h"
#include "requests/answer/numbers.h"
#include "requests/run/calls.h"

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

--logprobs K prints a line of JSON for each token: its log-probability given the tokens before it,
its rank (0: the likeliest) and the K likeliest tokens (default 0). With --json, --per-line and
--jsonl, the record of each text has these as "logprobs".

Ctrl-C ends the scoring of a text and prints the result so far, marked as "partial". For files whose
scoring takes hours, use gpt2 batch, which resumes after an interruption.

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
  bool bos = false;
  bool per_line = false;
  bool jsonl = false;
  bool choices = false;
  bool as_json = false;
  bool with_logprobs = false;
  ScoreOptions score;
};

void add_format_options(Options& options, ScoreSettings& settings) {
  options.add_switch("--per-line", settings.per_line, "Score each line as a text of its own");
  options.add_switch("--jsonl", settings.jsonl, "The same for lines that are JSON objects")
      .excluded = {"--per-line"};
  options.add_switch("--choices", settings.choices, "Score the choices of JSON objects")
      .excluded = {"--per-line", "--jsonl", "--context", "--stride"};
  options.add_switch("--json", settings.as_json,
                     "Print one JSON object for each text, as --per-line, --jsonl and --choices "
                     "always do");
  const auto set_logprobs = [&settings](const std::string& text) {
    settings.with_logprobs = true;
    if (text.empty() || read_number(text, settings.score.top_logprobs)) return;
    throw UsageError("--logprobs", "expected a whole number, found '" + text +
                                       "'; without a number, --logprobs must be the last argument "
                                       "or stand before another option");
  };
  Option& logprobs = options.add(
      "--logprobs", "[K]",
      "Print each token's log-probability and rank, and the K likeliest tokens", set_logprobs);
  logprobs.excluded = {"--choices"};
  logprobs.may_lack_value = true;
}

ScoreSettings read_score_settings(const Arguments& arguments) {
  constexpr double kMost = 1 << 30;
  ScoreSettings settings;
  Options options("gpt2 score",
                  "Measures how well a model predicts a text, or which continuation it prefers",
                  kScoreDetails);
  options.add_file("FILE", settings.file, "The text; -: standard input");
  add_model_options(options, settings.model);
  options.add_number("--context", settings.score.context, {2, kMost, 0},
                     "Tokens of a window; 0: as many as the model has positions");
  options.add_number("--stride", settings.score.stride, {1, kMost, 0},
                     "Tokens between the beginnings of windows; 0: 512, or half a window if that "
                     "is less");
  options.add_switch("--tokens", settings.tokens, "Read token ids; needs no tokenizer");
  options.add_switch("--bos", settings.bos,
                     "Put the end-of-text token before each text, so that its first token counts");
  add_format_options(options, settings);
  options.parse(arguments);
  settings.model.find();
  return settings;
}

// Returns the options for this model. Throws UsageError if they are out of its range.
ScoreOptions resolved(const ScoreOptions& options, const Config& config) {
  check_logprobs(options.top_logprobs, config);
  try {
    return options.resolved(config);
  } catch (const Error& error) {
    throw UsageError(concat("--", error.what()));
  }
}

struct Scorer {
  const ScoreSettings& settings;
  Engine engine;
  ScoreOptions options;
  std::optional<Tokenizer> tokenizer;

  [[nodiscard]] TokenReader reader() const {
    const Config& config = engine.model().config();
    TokenReader reader = {tokenizer, config.vocab_size, note_lost_bytes};
    if (settings.bos) reader.bos = first_token(tokenizer, config);
    return reader;
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

// Prints the result of a text, or of its beginning.
void report(const Scorer& scorer, const std::vector<TokenId>& text, const TextScore& score) {
  const Perplexity found = checked_perplexity(scorer.engine.model(), scorer.tokenizer, text, score);
  if (scorer.settings.as_json) {
    Json record = perplexity_json(found, scorer.options);
    if (interrupted()) record["partial"] = true;
    if (scorer.settings.with_logprobs) {
      record["logprobs"] = logprobs_json(scorer.tokenizer, text, score.tokens);
    }
    write_stdout(line_of(record));
  } else if (!scorer.settings.with_logprobs) {
    const std::string partial = "partial        the beginning of the text, until the interrupt\n";
    write_stdout((interrupted() ? partial : "") + perplexity_in_words(found, scorer.options));
  }
}

std::vector<TokenId> read_text(const Scorer& scorer) {
  const std::string input = read_input(scorer.settings.file);
  try {
    const TokenReader reader = scorer.reader();
    std::vector<TokenId> text = reader.with_bos(reader.read(input));
    check_scored_length(text.size());
    return text;
  } catch (const Error& error) {
    throw Error(error.code(), shown_input(scorer.settings.file) + ": " + error.what());
  }
}

void score_text(const Scorer& scorer) {
  std::vector<TokenId> text = read_text(scorer);
  note_interrupts();
  Progress progress("scoring " + shown_input(scorer.settings.file));
  ScoreOptions options = scorer.options;
  options.progress = [&](double share) {
    if (interrupted()) throw Interrupted();
    progress.part(share);
  };
  TextScore score;
  const auto write_tokens = [&](std::size_t begin, std::size_t end) {
    if (!scorer.settings.with_logprobs || scorer.settings.as_json) return;
    std::string lines;
    for (std::size_t i = begin; i < end; ++i) {
      lines += line_of(logprob_json(scorer.tokenizer, text[i], score.tokens[i]));
    }
    write_stdout(lines);
  };
  try {
    score_in_groups(score, scorer.engine, text, options, write_tokens);
  } catch (const Interrupted&) {
    text.resize(score.windows.empty() ? 0 : score.windows.back().end);
    score.tokens.resize(text.size());
  }
  progress.done();
  if (text.empty()) {
    print_error("interrupted; no window was scored, so there is no result");
  } else {
    report(scorer, text, score);
  }
  end_if_interrupted();
}

ScoringRequest read_line(const Scorer& scorer, const std::string& line) {
  const ScoreSettings& settings = scorer.settings;
  TokenReader reader = scorer.reader();
  ScoringRequest request = {.options = scorer.options, .with_logprobs = settings.with_logprobs};
  if (settings.choices || settings.jsonl) {
    nlohmann::json record;
    parse_object(record, line, kLineName);
    Members members(record);
    const Config& config = scorer.engine.model().config();
    reader.read_bos(members, config);
    if (settings.choices) {
      request.question = read_question(members, reader, config);
      return request;
    }
    request.texts = {reader.with_bos(read_tokens(members, reader, "text"))};
  } else {
    request.texts = {reader.with_bos(reader.read(line))};
  }
  check_scored_length(request.texts[0].size());
  return request;
}

void score_each_line(const Scorer& scorer) {
  std::vector<ScoringRequest> requests;
  const auto read = [&](const std::string& line) {
    return requests.emplace_back(read_line(scorer, line)).tokens();
  };
  const auto answer = [&] {
    std::vector<const ScoringRequest*> pointers;
    for (const ScoringRequest& request : requests) pointers.push_back(&request);
    std::vector<Json> scores = gpt2::score_lines(scorer.engine, scorer.tokenizer, pointers);
    requests.clear();
    return scores;
  };
  answer_lines(scorer.settings.file, "scoring " + shown_input(scorer.settings.file), read, answer);
}

}  // namespace

int score(const Arguments& arguments) {
  const ScoreSettings settings = read_score_settings(arguments);
  const Engine engine(load_model(settings.model), settings.model.engine);
  Scorer scorer = {settings, engine, resolved(settings.score, engine.model().config()), {}};
  if (!settings.tokens) {
    scorer.tokenizer =
        settings.jsonl ? find_tokenizer(settings.model) : load_tokenizer(settings.model);
  }
  if (settings.choices || settings.per_line || settings.jsonl) {
    score_each_line(scorer);
  } else {
    score_text(scorer);
  }
  return 0;
}

}  // namespace gpt2::cli
