#include <optional>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json_members.h"
#include "cli/load_model.h"
#include "cli/logprob_json.h"
#include "cli/model_limits.h"
#include "cli/prompt.h"
#include "cli/score_records.h"
#include "cli/score_report.h"
#include "cli/score_settings.h"
#include "gpt2/score.h"

namespace gpt2::cli {
namespace {

// Returns the options for this model. Throws UsageError if they are out of its range.
ScoreOptions resolved(const ScoreOptions& options, const Config& config) {
  if (options.context > config.n_positions) {
    throw UsageError("--context", format("expected at most %zu, because the model has as many "
                                         "positions, found %zu",
                                         config.n_positions, options.context));
  }
  const std::size_t context = options.context == 0 ? config.n_positions : options.context;
  if (options.stride > context) {
    throw UsageError("--stride", format("expected at most %zu, the tokens of a window, found %zu",
                                        context, options.stride));
  }
  check_logprobs(options.top_logprobs, config);
  return options.resolved(config);
}

// A model with the settings for scoring.
class Scorer {
 public:
  Scorer(const ScoreSettings& settings, const std::filesystem::path& path)
      : settings_(settings),
        engine_(load_model(path, settings.dtype),
                {.threads = settings.threads, .kv_type = settings.kv_type}),
        options_(resolved(settings.score, engine_.model().config())),
        records_(engine_.model(), tokenizer_) {
    if (!settings.tokens) tokenizer_ = load_tokenizer(path);
  }

  void score_text() const;
  void score_lines() const;
  void score_choices() const;

 private:
  [[nodiscard]] TokenReader reader() const {
    return {tokenizer_, engine_.model().config().vocab_size};
  }
  [[nodiscard]] std::vector<TokenId> read_text() const;
  [[nodiscard]] std::vector<TokenId> read_line(const std::string& line) const;
  [[nodiscard]] ChoiceQuestion read_question(const std::string& line) const;
  [[nodiscard]] Json record_of(const std::vector<TokenId>& text, const TextScore& score) const {
    return records_.text_record(text, score, options_, settings_.with_logprobs);
  }

  const ScoreSettings& settings_;
  Engine engine_;
  ScoreOptions options_;
  std::optional<Tokenizer> tokenizer_;
  ScoreRecords records_;
};

std::vector<TokenId> Scorer::read_text() const {
  const std::string bytes = read_file(settings_.file);
  try {
    std::vector<TokenId> text = reader().read(bytes);
    check_scored_length(text);
    return text;
  } catch (const Error& error) {
    throw Error(error.code(), shown_input(settings_.file) + ": " + error.what());
  }
}

void Scorer::score_text() const {
  const std::vector<TokenId> text = read_text();
  Progress progress("scoring " + shown_input(settings_.file));
  ScoreOptions options = options_;
  options.progress = [&](double share) { progress.part(share); };
  const TextScore score = gpt2::score(engine_, {&text, 1}, options).front();
  progress.done();
  if (settings_.as_json) {
    write_stdout(line_of(record_of(text, score)));
  } else if (settings_.with_logprobs) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      write_stdout(line_of(logprob_json(tokenizer_, text[i], score.tokens[i])));
    }
  } else {
    write_stdout(perplexity_in_words(records_.perplexity(text, score), options));
  }
}

std::vector<TokenId> Scorer::read_line(const std::string& line) const {
  std::vector<TokenId> text = settings_.jsonl ? reader().read_record(line) : reader().read(line);
  check_scored_length(text);
  return text;
}

void Scorer::score_lines() const {
  using Text = std::vector<TokenId>;
  const auto answer = [&](std::span<const Text> texts) {
    const std::vector<TextScore> scores = gpt2::score(engine_, texts, options_);
    std::vector<Json> records;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      records.push_back(record_of(texts[i], scores[i]));
    }
    return records;
  };
  answer_lines<Text>(
      settings_.file, "scoring " + shown_input(settings_.file),
      [&](const std::string& line) { return read_line(line); },
      [](const Text& text) { return text.size(); }, answer);
}

ChoiceQuestion Scorer::read_question(const std::string& line) const {
  nlohmann::json record;
  parse_object(record, line);
  Members members(record);
  return gpt2::cli::read_question(members, reader(), engine_.model().config());
}

void Scorer::score_choices() const {
  const auto answer = [&](std::span<const ChoiceQuestion> questions) {
    const auto scores = gpt2::score_choices(engine_, questions);
    std::vector<Json> records;
    for (std::size_t i = 0; i < questions.size(); ++i) {
      records.push_back(records_.question_record(questions[i], scores[i]));
    }
    return records;
  };
  answer_lines<ChoiceQuestion>(
      settings_.file, "scoring " + shown_input(settings_.file),
      [&](const std::string& line) { return read_question(line); }, size_of, answer);
}

}  // namespace

int score(Arguments arguments) {
  const ScoreSettings settings = read_score_settings(std::move(arguments));
  const std::filesystem::path path = model_path(settings.model);
  Progress loading("loading " + path.string());
  const Scorer scorer(settings, path);
  loading.done();
  if (settings.choices) {
    scorer.score_choices();
  } else if (settings.per_line || settings.jsonl) {
    scorer.score_lines();
  } else {
    scorer.score_text();
  }
  return 0;
}

}  // namespace gpt2::cli
