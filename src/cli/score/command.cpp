#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/fail.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/generate/writing.h"
#include "cli/lines/records.h"
#include "cli/model.h"
#include "cli/score/parts.h"
#include "cli/score/report.h"
#include "cli/score/request.h"
#include "cli/system/interrupts.h"
#include "cli/terminal/console.h"
#include "cli/tokens.h"
#include "gpt2/score.h"
#include "requests/members.h"

namespace gpt2::cli {
namespace {

constexpr const char* kScoreSummary =
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
line of JSON for each, in the same order. --jsonl expects objects with "text" or with "token_ids",
and ignores other members: options for single lines are for 'gpt2 batch'.
With --choices, a line is an object such as {"context": "The cat", "choices": [" sat", " moon"]}; a
choice usually begins with a space. "best" is the index of the choice with the highest
log-probability, and there is one by token and by byte. Texts may also be given as lists of ids. The
record of a line that cannot be scored has "error", and the command ends with status 1.

--logprobs K prints a line of JSON for each token: its log-probability given the tokens before it,
its rank (0: the likeliest) and the K likeliest tokens (default 0). With --json, --per-line and
--jsonl, the record of each text has these as "logprobs".

A context and a choice are scored as one sequence, without windows. Together they may have at most
one token more than the model has positions.

A text may be larger than the memory. Ctrl-C ends the scoring of a text and prints the result so
far, with a line "partial" (in JSON, "partial": true).

Results go to standard output as soon as they are known, so > FILE has all of them up to an
interruption. For files whose scoring takes hours, use gpt2 batch: it scores the lines that --jsonl
and --choices read, resumes after an interruption, and shares the lines among machines.

)";

constexpr const char* kScoreExamples = R"(Examples:
  gpt2 score book.txt
  gpt2 score -m gpt2 --stride 256 --json < book.txt
  gpt2 score --per-line sentences.txt | jq .perplexity
  gpt2 score --jsonl texts.jsonl > scores.jsonl
  gpt2 score --logprobs 3 poem.txt
  gpt2 score --choices questions.jsonl | jq .best)";

struct Settings {
  ModelSettings model;
  std::string file = "-";
  bool tokens = false;
  bool per_line = false;
  bool jsonl = false;
  bool choices = false;
  bool as_json = false;
  bool with_logprobs = false;
  ScoreOptions score;
};

void add_format_options(Options& options, Settings& settings) {
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

Settings read_settings(const Arguments& arguments) {
  constexpr double kMost = 1 << 30;
  Settings settings;
  Options options("gpt2 score",
                  "Measures how well a model predicts a text, or which continuation it prefers",
                  std::string(kScoreSummary) + kScoreExamples);
  options.add_file("FILE", settings.file, "The text; -: standard input");
  add_model_options(options, settings.model);
  options.add_number("--context", settings.score.context, {2, kMost, 0},
                     "Tokens of a window; 0: as many as the model has positions");
  options.add_number("--stride", settings.score.stride, {1, kMost, 0},
                     "Tokens between the beginnings of windows; 0: 512, or half a window if that "
                     "is less");
  options.add_switch("--tokens", settings.tokens, "Read token ids; needs no tokenizer");
  add_format_options(options, settings);
  options.parse(arguments);
  settings.model.find();
  return settings;
}

// Returns the options for this model. Throws UsageError if they are out of its range.
ScoreOptions resolved(const ScoreOptions& options, const Config& config) {
  if (options.context > config.n_positions) {
    throw UsageError("--context",
                     concat("expected at most ", config.n_positions,
                            ", because the model has as many positions, found ", options.context));
  }
  const std::size_t context = options.context == 0 ? config.n_positions : options.context;
  if (options.stride > context) {
    throw UsageError("--stride", concat("expected at most ", context,
                                        ", the tokens of a window, found ", options.stride));
  }
  check_logprobs(options.top_logprobs, config);
  return options.resolved(config);
}

// A model with the settings for scoring.
class Scorer {
 public:
  explicit Scorer(const Settings& settings)
      : settings_(settings),
        engine_(load_model(settings.model), settings.model.engine),
        options_(resolved(settings.score, engine_.model().config())),
        records_(engine_.model(), tokenizer_) {
    if (!settings.tokens) tokenizer_ = load_tokenizer(settings.model.path);
  }

  void score_text();
  void score_lines() const;

 private:
  [[nodiscard]] TokenReader reader() const {
    return {tokenizer_, engine_.model().config().vocab_size, note_lost_bytes};
  }
  void take(std::span<const TokenId> tokens, std::span<const TokenLogprob> scores);
  void score_parts(TextScorer& scorer, TextParts& parts) const;
  void report(const Perplexity& found, bool is_partial) const;
  [[nodiscard]] ScoreRequest read_line(const std::string& line) const;

  const Settings& settings_;
  Engine engine_;
  ScoreOptions options_;
  std::optional<Tokenizer> tokenizer_;
  ScoreRecords records_;
  Json logprobs_ = Json::array();  // of --json --logprobs
};

// Receives the scores of tokens of a text with --logprobs.
void Scorer::take(std::span<const TokenId> tokens, std::span<const TokenLogprob> scores) {
  const Json list = logprobs_json(tokenizer_, tokens, scores);
  if (settings_.as_json) {
    logprobs_.insert(logprobs_.end(), list.begin(), list.end());
    return;
  }
  std::string lines;
  for (const Json& token : list) lines += line_of(token);
  write_stdout(lines);
}

// Scores the text to its end or until interrupted().
void Scorer::score_parts(TextScorer& scorer, TextParts& parts) const {
  for (auto tokens = parts.next(); !tokens.empty(); tokens = parts.next()) scorer.append(tokens);
  if (interrupted()) return;
  check_scored_length(parts.tokens());
  note_lost_bytes(parts.lost_bytes(), parts.bytes());
  scorer.finish();
}

void Scorer::score_text() {
  const std::string name = shown_input(settings_.file);
  const InputFile file(settings_.file, "a text");
  TextParts parts(file, tokenizer_, engine_.model().config().vocab_size);
  note_interrupts();
  Progress progress("scoring " + name);
  ScoreOptions options = options_;
  std::optional<TextScorer> scorer;
  options.progress = [&](double share) {
    if (interrupted()) throw Interrupted();
    const auto before = static_cast<double>(scorer->scored_tokens());
    const double done = before + share * (static_cast<double>(parts.tokens()) - before);
    if (const auto all = parts.estimated_tokens()) return progress.part(std::min(done / *all, 1.0));
    progress.show(counted(parts.tokens(), "token"));
  };
  TextScorer::Take take;
  if (settings_.with_logprobs) {
    take = [this](const auto& tokens, const auto& scores) { this->take(tokens, scores); };
  }
  scorer.emplace(engine_, options, tokenizer_, take);
  try {
    score_parts(*scorer, parts);
  } catch (const Interrupted&) {
    // The windows that have been scored are reported below.
  } catch (const Error& error) {
    throw Error(error.code(), name + ": " + error.what());
  }
  progress.done();
  if (!interrupted() || scorer->scored_tokens() > 0) {
    report(scorer->perplexity(), interrupted());
  } else {
    print_error("interrupted; no window was scored, so there is no result");
  }
  end_if_interrupted();
}

void Scorer::report(const Perplexity& found, bool is_partial) const {
  records_.check(found);
  if (settings_.as_json) {
    Json record = perplexity_json(found, options_);
    if (is_partial) record["partial"] = true;
    if (settings_.with_logprobs) record["logprobs"] = logprobs_;
    write_stdout(line_of(record));
  } else if (!settings_.with_logprobs) {
    const std::string partial = "partial        the beginning of the text, until the interrupt\n";
    write_stdout((is_partial ? partial : "") + perplexity_in_words(found, options_));
  }
}

ScoreRequest Scorer::read_line(const std::string& line) const {
  ScoreRequest request = {.options = options_, .with_logprobs = settings_.with_logprobs};
  if (settings_.choices) {
    nlohmann::json record;
    parse_object(record, line, kLineName);
    Members members(record);
    request.question = read_question(members, reader(), engine_.model().config());
    return request;
  }
  request.text = settings_.jsonl ? read_record(reader(), line) : reader().read(line);
  check_scored_length(request.text.size());
  return request;
}

void Scorer::score_lines() const {
  const auto answer = [&](std::span<const ScoreRequest> requests) {
    std::vector<const ScoreRequest*> pointers;
    for (const ScoreRequest& request : requests) pointers.push_back(&request);
    return score_requests(engine_, records_, pointers);
  };
  answer_lines<ScoreRequest>(
      settings_.file, "scoring " + shown_input(settings_.file),
      [&](const std::string& line) { return read_line(line); },
      [](const ScoreRequest& request) { return request.tokens(); }, answer);
}

}  // namespace

int score(const Arguments& arguments) {
  const Settings settings = read_settings(arguments);
  Progress loading("loading " + settings.model.path.string());
  Scorer scorer(settings);
  loading.done();
  if (settings.choices || settings.per_line || settings.jsonl) {
    scorer.score_lines();
  } else {
    scorer.score_text();
  }
  return 0;
}

}  // namespace gpt2::cli
