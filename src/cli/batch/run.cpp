#include "cli/batch/run.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "base/seconds_since.h"
#include "base/text.h"
#include "cli/batch/request.h"
#include "cli/system/interrupts.h"
#include "cli/terminal/console.h"
#include "gpt2/runtime.h"
#include "gpt2/scheduler.h"
#include "requests/completion.h"
#include "requests/hash.h"

namespace gpt2::cli {
namespace {

// About this many tokens are scored at once, so that records are written and interrupts are noticed
// often enough.
constexpr std::size_t kScoredTokens = 4096;

constexpr std::size_t kWindow = 256;  // the max number of texts in memory

// max_memory must suffice for any single text, because otherwise it would depend on the machine
// which texts get an error.
SchedulerOptions scheduler_options(const Engine& engine, const std::optional<Model>& draft) {
  const Config& config = engine.model().config();
  std::size_t needed = Session::memory_bytes(config, engine.kv_type(), config.n_positions);
  if (draft) {
    needed += Session::memory_bytes(draft->config(), KVType::f32, draft->config().n_positions);
  }
  return {.max_memory = std::max(available_memory() / 2, needed)};
}

GenerationOptions default_options(const BatchSettings& settings, const std::optional<Model>& draft,
                                  const std::optional<Tokenizer>& tokenizer) {
  GenerationOptions options = settings.defaults.options;
  if (tokenizer) add_bad_words(options.sampling, settings.defaults.bad_words, *tokenizer);
  options.draft = draft;
  options.prompt_lookup = settings.model.looks_up();
  return options;
}

// The state of run_batch().
class BatchRun {
 public:
  BatchRun(const Engine& engine, const std::optional<Model>& draft,
           const std::optional<Tokenizer>& tokenizer, const BatchSettings& settings,
           std::uint64_t hash, const InputFile& input, OutputFile& output);

  BatchSummary run();

 private:
  // A text that is being written or waits to be scored, or that is complete and waits until the
  // texts before it are.
  struct Text {
    RecordHead head;
    std::size_t offset;  // the offset of the end of its line
    std::optional<ScoreRequest> scoring = {};
    std::optional<std::string> scored = {};  // the record, if it has been scored
    std::string text = {};
    std::future<GenerationResult> result = {};
    std::exception_ptr error = {};
    std::uint64_t sequence = 0;
    std::size_t prompt = 0;                            // the index of its prompt in the request
    std::shared_ptr<const BatchRequest> request = {};  // only with --format openai
  };

  void count_error(const RecordHead& head, const std::string& error);
  bool begin_text();
  bool begin_line();
  [[noreturn]] void refuse_records() const;
  void require_json(const Line& line) const;
  [[nodiscard]] bool has_texts() const noexcept { return head_.sample < head_.samples; }
  void submit(Text& text);
  void score_some();
  [[nodiscard]] static bool is_complete(const Text& text);
  void write_finished();
  [[nodiscard]] std::string record_of(Text& text);
  void add_choice(Text& text);
  [[nodiscard]] std::string response_of(const Text& last);
  void show(Progress& progress);

  const Engine& engine_;
  const std::optional<Tokenizer>& tokenizer_;
  const ScoreRecords score_records_;
  const BatchSettings& settings_;
  const std::uint64_t hash_;
  const InputFile& input_;
  OutputFile& output_;
  const Config config_;
  GenerationOptions defaults_;
  LineReader lines_;
  RecordReader records_;                         // the records that OUT already has
  std::size_t line_ = 0;                         // the number of the next line
  std::shared_ptr<const BatchRequest> request_;  // the request of the line before it
  RecordHead head_ = {.samples = 0};             // the head of the next text of that line
  std::vector<CompletedPrompt> answer_;          // of a line whose record is not complete
  std::optional<Json> answer_error_;             // the answer if one of its texts has an error
  std::deque<Text> texts_;
  Scheduler scheduler_;
  BatchSummary summary_;
  std::size_t first_offset_ = 0;  // the offset in the input at which this run began to write
  std::size_t offset_ = 0;        // the offset in the input up to which there are records
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point shown_ = start_;
};

BatchRun::BatchRun(const Engine& engine, const std::optional<Model>& draft,
                   const std::optional<Tokenizer>& tokenizer, const BatchSettings& settings,
                   std::uint64_t hash, const InputFile& input, OutputFile& output)
    : engine_(engine),
      tokenizer_(tokenizer),
      score_records_(engine.model(), tokenizer),
      settings_(settings),
      hash_(hash),
      input_(input),
      output_(output),
      config_(engine.model().config()),
      defaults_(default_options(settings, draft, tokenizer)),
      lines_(input.descriptor(), input.name(), kMaxLineBytes),
      records_(output.descriptor(), output.name()),
      scheduler_(engine, scheduler_options(engine, draft)) {}

BatchSummary BatchRun::run() {
  Progress progress("writing " + output_.name());
  bool has_more = true;
  while (!interrupted()) {
    // Waits for a pipe only if there is no text to write.
    const auto may_read = [&] { return texts_.empty() || lines_.is_ready(); };
    while (has_more && texts_.size() < kWindow && may_read()) has_more = begin_text();
    if (texts_.empty()) break;
    score_some();
    scheduler_.step();
    write_finished();
    output_.sync_sometimes();
    show(progress);
  }
  if (!interrupted() && !records_.at_end()) {
    reject(output_.name(), " has records of lines that ", input_.name(),
           " does not have: give another -o, or remove ", output_.name());
  }
  output_.sync();
  summary_.errors += records_.errors();
  return summary_;
}

void BatchRun::count_error(const RecordHead& head, const std::string& error) {
  ++summary_.errors;
  if (summary_.first_error.empty()) summary_.first_error = about_line(head.line + 1, error);
}

// Begins the next text. Returns false if there are no more texts.
bool BatchRun::begin_text() {
  while (!has_texts()) {
    if (!begin_line()) return false;
  }
  Text& text = texts_.emplace_back(Text{.head = head_, .offset = lines_.offset()});
  const std::size_t stride =
      settings_.openai ? GenerationConfig::kMaxSamples : settings_.defaults.samples;
  text.sequence = head_.line * stride + head_.sample;
  text.prompt = head_.sample / request_->completion.best_of;
  if (settings_.openai) text.request = request_;
  text.error = request_->error;
  text.scoring = request_->scoring;
  if (!text.error && !text.scoring) submit(text);
  ++head_.sample;
  return true;
}

// Reads the next line and determines which of its texts, if any, still have to be written. Returns
// false if there are no more lines.
bool BatchRun::begin_line() {
  Line line;
  if (!lines_.next(line, hash_bytes(std::to_string(line_), hash_))) return false;
  head_ = {.line = line_++, .id = hash_text(line.hash), .samples = 0};
  if (!settings_.shard.takes(head_.line)) return true;
  std::size_t written = 0;
  if (!records_.at_end()) written = records_.skip(head_.line, head_.id);
  if (!records_.at_end() && written == 0) refuse_records();
  if (written != 0) {
    if (settings_.openai) ++summary_.lines;
    first_offset_ = offset_ = lines_.offset();
    if (settings_.openai) return true;  // its only record
    if (!records_.at_end()) {
      ++summary_.lines;
      return true;
    }
  }
  request_ =
      std::make_shared<BatchRequest>(read_request(line, settings_, defaults_, tokenizer_, config_));
  if (head_.line == 0 && records_.offset() == 0) require_json(line);
  head_.custom_id = request_->custom_id;
  const CompletionRequest& completion = request_->completion;
  const bool has_one_text = request_->error || request_->scoring;
  head_.samples = has_one_text ? 1 : completion.best_of * completion.prompts.size();
  head_.sample = written;
  head_.lost_bytes = completion.lost_bytes;
  head_.truncated = completion.truncated;
  if (!has_texts()) ++summary_.lines;
  return true;
}

// Throws Error, because the next record is not that of the line.
void BatchRun::refuse_records() const {
  reject(output_.name(), ": '", records_.next().substr(0, 40), "...' is not the record of line ",
         head_.line + 1, " of ", input_.name(),
         ": the line, the options, the model or the version of gpt2 has changed; give another "
         "-o, or remove ",
         output_.name());
}

// Throws Error if the first line shows that the input is not JSON at all, so that not every line
// becomes an error.
void BatchRun::require_json(const Line& line) const {
  const std::size_t begin = line.text.find_first_not_of(" \t\r");
  if (settings_.lines || begin == line.text.npos) return;
  const bool is_alone = line.text.find_first_not_of(" \t\r", begin + 1) == line.text.npos;
  if (line.text[begin] == '{' && !is_alone) return;
  const bool is_json = std::string_view("{[\"").find(line.text[begin]) != std::string_view::npos;
  reject(input_.name(), ": line 1: expected a JSON object such as {\"prompt\": \"Once\"}, found ",
         quote(line.text, 40),
         is_json ? ": write each object on a line of its own"
                 : ": if each line is a prompt as plain text, give --lines");
}

void BatchRun::submit(Text& text) {
  GenerationOptions options = request_->completion.options;
  const auto& [prompt, max_new_tokens, is_empty] = request_->completion.prompts[text.prompt];
  options.max_new_tokens = max_new_tokens;
  options.sampling.sequence = text.sequence;
  const auto write = [&written = text.text](std::string_view piece) {
    written += piece;
    return true;
  };
  try {
    text.result = scheduler_.submit(prompt, options, {tokenizer_, write, nullptr});
  } catch (const Error&) {
    text.error = std::current_exception();
  }
}

// Scores the first line that waits for it, together with further lines that have the same options.
void BatchRun::score_some() {
  std::vector<Text*> group;
  std::vector<const ScoreRequest*> requests;
  std::size_t tokens = 0;
  for (Text& text : texts_) {
    if (is_complete(text) || !text.scoring || tokens >= kScoredTokens) continue;
    if (!requests.empty() && !text.scoring->has_same_options(*requests.front())) continue;
    group.push_back(&text);
    requests.push_back(&*text.scoring);
    tokens += text.scoring->tokens();
  }
  if (requests.empty()) return;
  const std::vector<Json> scores = score_requests(engine_, score_records_, requests);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    group[i]->scored = score_record_json(group[i]->head, scores[i]);
  }
  if (!scores.empty()) summary_.tokens += tokens;
}

bool BatchRun::is_complete(const Text& text) {
  if (text.error || text.scored) return true;
  return !text.scoring &&
         text.result.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

// Returns the record of a text. Only an Error becomes a record, because it is caused by the line
// and would occur again in another run.
std::string BatchRun::record_of(Text& text) {
  try {
    if (text.error) std::rethrow_exception(text.error);
    if (text.scored) return *text.scored;
    const GenerationResult result = text.result.get();
    summary_.tokens += result.tokens.size();
    return record_json(text.head, tokenizer_, text.sequence, text.text, result);
  } catch (const Error& error) {
    count_error(text.head, error.what());
    return error_record_json(text.head, error.what());
  }
}

// Adds a text that is complete to the answer of its line.
void BatchRun::add_choice(Text& text) {
  if (answer_error_) return;
  try {
    if (text.error) std::rethrow_exception(text.error);
    const CompletionRequest& request = text.request->completion;
    if (text.prompt == answer_.size()) {
      CompletedPrompt& begun = answer_.emplace_back();
      begun.prompt = request.prompts[text.prompt];
      if (request.echo && request.with_logprobs) {
        begun.logprobs =
            prompt_logprobs(engine_, begun.prompt.tokens, *request.options.top_logprobs);
      }
    }
    CompletedPrompt& prompt = answer_.back();
    prompt.choices.push_back({text.text, text.result.get()});
    summary_.tokens += prompt.choices.back().result.tokens.size();
    if (prompt.choices.size() == request.best_of) keep_best(prompt, request.n);
  } catch (const Error& error) {
    answer_error_ = error_json(error);
  }
}

// Returns the record of a line in OpenAI's format, of whose texts this is the last one.
std::string BatchRun::response_of(const Text& last) {
  const auto prompts = std::exchange(answer_, {});
  const auto error = std::exchange(answer_error_, {});
  if (error) {
    count_error(last.head, error->at("error").at("message").get<std::string>());
    return response_record_json(last.head, 400, *error);
  }
  const AnswerHead head = {.id = "cmpl-" + last.head.id, .model = settings_.model.name};
  const Json body = completion_json(head, last.request->completion, *tokenizer_, prompts);
  return response_record_json(last.head, 200, body);
}

// Appends the records of all texts before the first one that is not complete.
void BatchRun::write_finished() {
  for (; !texts_.empty() && is_complete(texts_.front()); texts_.pop_front()) {
    if (summary_.written == 0) output_.cut(records_.offset());
    Text& text = texts_.front();
    const bool is_last = text.head.sample + 1 == text.head.samples;
    if (settings_.openai) add_choice(text);
    if (settings_.openai && !is_last) continue;
    output_.append(settings_.openai ? response_of(text) : record_of(text));
    ++summary_.written;
    if (is_last) ++summary_.lines;
    offset_ = text.offset;
  }
}

void BatchRun::show(Progress& progress) {
  const auto now = std::chrono::steady_clock::now();
  if (now - shown_ < std::chrono::milliseconds(200)) return;
  shown_ = now;
  const double seconds = seconds_since(start_);
  const double speed = static_cast<double>(summary_.tokens) / seconds;
  const std::size_t bytes = input_.bytes();
  if (bytes == 0) {
    progress.show(counted(summary_.lines, "line") + format(", %.0f tokens/s", speed));
    return;
  }
  const double share = static_cast<double>(offset_) / static_cast<double>(bytes);
  std::string left;
  if (offset_ > first_offset_ && bytes >= offset_) {
    const double rate = static_cast<double>(offset_ - first_offset_) / seconds;
    left = ", " + time_left(static_cast<double>(bytes - offset_) / rate);
  }
  progress.show(format("%.0f %%, %.0f tokens/s%s", 100.0 * share, speed, left.c_str()));
}

}  // namespace

BatchSummary run_batch(const Engine& engine, const std::optional<Model>& draft,
                       const std::optional<Tokenizer>& tokenizer, const BatchSettings& settings,
                       std::uint64_t hash, const InputFile& input, OutputFile& output) {
  return BatchRun(engine, draft, tokenizer, settings, hash, input, output).run();
}

}  // namespace gpt2::cli
