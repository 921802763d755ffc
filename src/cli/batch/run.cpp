#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "base/hash.h"
#include "base/seconds_since.h"
#include "base/text.h"
#include "cli/batch/batch.h"
#include "cli/system/system.h"
#include "cli/terminal/console.h"
#include "gpt2/runtime.h"
#include "gpt2/scheduler.h"
#include "requests/answer/completion.h"
#include "requests/run/calls.h"
#include "requests/run/completion_run.h"

namespace gpt2::cli {
namespace {

// About this many tokens are scored at once, so that records are written and interrupts are noticed
// often enough.
constexpr std::size_t kScoredTokens = 4096;

constexpr std::size_t kWindow = 256;  // the max number of texts in memory

// max_memory must suffice for any single text, because otherwise it would depend on the machine
// which texts get an error.
SchedulerOptions scheduler_options(const BatchContext& of) {
  const Config& config = of.engine.model().config();
  std::size_t needed = Session::memory_bytes(config, of.engine.kv_type(), config.n_positions);
  if (of.draft) {
    const Config& of_draft = of.draft->config();
    needed += Session::memory_bytes(of_draft, KVType::f32, of_draft.n_positions);
  }
  return {.max_memory = std::max(available_memory() / 2, needed)};
}

GenerationOptions default_options(const BatchContext& of) {
  const Writing& defaults = of.settings.defaults;
  GenerationOptions options = defaults.options;
  if (of.tokenizer) add_bad_words(options.sampling, defaults.bad_words, *of.tokenizer);
  options.draft = of.draft;
  options.prompt_lookup = of.settings.model.looks_up();
  return options;
}

// The state of run_batch().
class BatchRun {
 public:
  explicit BatchRun(const BatchContext& of) : of_(of) {}

  BatchSummary run();

 private:
  // A line whose texts are being written, or that waits to be scored, or that is complete and waits
  // until the lines before it are.
  struct Work {
    RecordHead head;     // of the next record
    std::size_t offset;  // the offset of the end of the line
    BatchRequest request;
    std::unique_ptr<CompletionRun> run = {};    // unless the line is scored or invalid
    std::deque<CompletionChoice> choices = {};  // that have no records yet, in order
    std::optional<std::string> scored = {};     // the record, if the line has been scored
  };

  void choose_format(const std::string& line);
  bool begin_line();
  void begin_run(Work& work);
  [[noreturn]] void refuse_records() const;
  [[nodiscard]] std::size_t texts_in_memory() const;
  void score_some();
  void write_finished();
  [[nodiscard]] bool write_records(Work& work);
  void write(const std::string& record);
  [[nodiscard]] std::string only_record_of(Work& work);
  [[nodiscard]] std::string record_of(const Work& work, const CompletionChoice& choice);
  void count_error(const RecordHead& head, const std::string& error);
  void show(Progress& progress);

  const BatchContext& of_;
  GenerationOptions defaults_ = default_options(of_);
  LineReader lines_{of_.input.descriptor(), of_.input.name(), kMaxLineBytes};
  bool is_plain_ = false;  // whether each line is a prompt as plain text
  RecordReader records_{of_.output.descriptor(), of_.output.name()};  // that OUT already has
  std::size_t line_ = 0;                                              // the number of the next line
  Scheduler scheduler_{of_.engine, scheduler_options(of_)};
  std::deque<Work> work_;
  BatchSummary summary_;
  std::size_t first_offset_ = 0;  // the offset in the input at which this run began to write
  std::size_t offset_ = 0;        // the offset in the input up to which there are records
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point shown_ = start_;
};

BatchSummary BatchRun::run() {
  Progress progress("writing " + of_.output.name());
  bool has_more = true;
  while (!interrupted()) {
    // Waits for a pipe only if there is no text to write.
    const auto may_read = [&] { return work_.empty() || lines_.is_ready(); };
    while (has_more && texts_in_memory() < kWindow && may_read()) has_more = begin_line();
    if (work_.empty()) break;
    score_some();
    scheduler_.step();
    for (Work& work : work_) {
      if (work.run) work.run->advance();
    }
    write_finished();
    of_.output.sync_sometimes();
    show(progress);
  }
  if (!interrupted() && !records_.at_end()) {
    reject(of_.output.name(), " has records of lines that ", of_.input.name(),
           " does not have: give another -o, or remove ", of_.output.name());
  }
  of_.output.sync();
  summary_.errors += records_.errors();
  return summary_;
}

std::size_t BatchRun::texts_in_memory() const {
  std::size_t texts = 0;
  for (const Work& work : work_) {
    if (!work.run) continue;
    const CompletionRequest& request = work.run->request();
    texts += std::min(request.best_of * request.prompts.size() - work.head.sample, kWindow);
  }
  return std::max(texts, work_.size());
}

// Decides by the first line and the options what the lines are.
void BatchRun::choose_format(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(" \t\r");
  if (begin == std::string::npos && !of_.settings.lines && !of_.settings.jsonl &&
      !of_.settings.openai) {
    reject(of_.input.name(), ": line 1: expected a prompt or a JSON object, found an empty line: ",
           "remove it, or give --lines or --jsonl");
  }
  const bool is_object = begin != std::string::npos && line[begin] == '{';
  is_plain_ = of_.settings.lines || (!of_.settings.jsonl && !of_.settings.openai && !is_object);
  if (!is_plain_ || of_.tokenizer || of_.settings.defaults.tokens) return;
  reject(of_.input.name(), ": line 1: expected a JSON object, as there is no tokenizer, found ",
         quote(line, 40), ": give --tokenizer, or --tokens for lines of token ids");
}

// Reads the next line and begins those of its texts that have no records yet. Returns false if
// there are no more lines.
bool BatchRun::begin_line() {
  Line line;
  if (!lines_.next(line, hash_bytes(std::to_string(line_), of_.hash))) return false;
  RecordHead head = {.line = line_++, .id = hash_text(line.hash)};
  if (head.line == 0) choose_format(line.text);
  if (!of_.settings.shard.takes(head.line)) return true;
  std::size_t written = 0;
  if (!records_.at_end()) written = records_.skip(head.line, head.id);
  if (!records_.at_end() && written == 0) refuse_records();
  if (written != 0) {
    if (of_.settings.openai) ++summary_.lines;
    first_offset_ = offset_ = lines_.offset();
    if (of_.settings.openai) return true;  // its only record
    if (!records_.at_end()) {
      ++summary_.lines;
      return true;
    }
  }
  BatchRequest request = read_request(line, is_plain_, of_, defaults_);
  const CompletionRequest& completion = request.completion;
  const bool has_one_record = of_.settings.openai || request.error || request.scoring;
  head.custom_id = request.custom_id;
  head.samples = has_one_record ? 1 : completion.best_of * completion.prompts.size();
  head.sample = written;
  head.lost_bytes = completion.lost_bytes;
  if (head.sample >= head.samples) {
    ++summary_.lines;
    return true;
  }
  work_.push_back({.head = head, .offset = lines_.offset(), .request = std::move(request)});
  begin_run(work_.back());
  return true;
}

void BatchRun::begin_run(Work& work) {
  if (work.request.error || work.request.scoring) return;
  CompletionRequest& completion = work.request.completion;
  const std::size_t stride =
      of_.settings.openai ? GenerationConfig::kMaxSamples : of_.settings.defaults.samples;
  completion.options.sampling.sequence = work.head.line * stride;
  completion.first = work.head.sample;
  RunEvents events;
  std::unique_ptr<AnswerForm> form;
  if (of_.settings.openai) {
    const AnswerHead head = {.id = "cmpl-" + work.head.id, .model = of_.settings.model.name};
    form = completion_form(head, of_.tokenizer, completion);
  } else {
    events.on_choice = [&work](CompletionChoice choice) {
      work.choices.push_back(std::move(choice));
    };
  }
  work.run =
      std::make_unique<CompletionRun>(of_.engine, scheduler_, of_.tokenizer, std::move(completion),
                                      std::move(events), std::move(form));
  work.run->advance();
}

// Throws Error, because the next record is not that of the line.
void BatchRun::refuse_records() const {
  reject(of_.output.name(), ": '", records_.next().substr(0, 40), "...' is not the record of line ",
         line_, " of ", of_.input.name(),
         ": the line, the options, the model or the version of gpt2 has changed; give another "
         "-o, or remove ",
         of_.output.name());
}

// Scores the first line that waits for it, together with further lines that have the same options.
void BatchRun::score_some() {
  std::vector<Work*> group;
  std::vector<const ScoringRequest*> requests;
  std::size_t tokens = 0;
  for (Work& work : work_) {
    const auto& scoring = work.request.scoring;
    if (work.request.error || work.scored || !scoring || tokens >= kScoredTokens) continue;
    if (!requests.empty() && !scoring->has_same_options(*requests.front())) continue;
    group.push_back(&work);
    requests.push_back(&*scoring);
    tokens += scoring->tokens();
  }
  if (requests.empty()) return;
  std::vector<Json> scores;
  try {
    scores = score_lines(of_.engine, of_.tokenizer, requests, [](double) {
      if (interrupted()) throw Interrupted();
    });
  } catch (const Interrupted&) {
    return;
  }
  for (std::size_t i = 0; i < scores.size(); ++i) {
    group[i]->scored = score_record_json(group[i]->head, scores[i]);
  }
  summary_.tokens += tokens;
}

// Appends all records that are complete, up to the first one that is not.
void BatchRun::write_finished() {
  for (; !work_.empty() && write_records(work_.front()); work_.pop_front()) {
    ++summary_.lines;
    offset_ = work_.front().offset;
  }
}

// Returns whether the line has all its records now.
bool BatchRun::write_records(Work& work) {
  if (work.run && !of_.settings.openai) {
    for (; !work.choices.empty(); work.choices.pop_front(), ++work.head.sample) {
      write(record_of(work, work.choices.front()));
    }
    return work.run->finished();
  }
  const bool waits = work.run ? !work.run->finished() : !work.request.error && !work.scored;
  if (!waits) write(only_record_of(work));
  return !waits;
}

void BatchRun::write(const std::string& record) {
  if (summary_.written == 0) of_.output.cut(records_.offset());
  of_.output.append(record);
  ++summary_.written;
}

// Only an Error becomes a record, because it is caused by the line and would occur again in another
// run.
std::string BatchRun::only_record_of(Work& work) {
  if (work.scored) return *work.scored;
  try {
    if (work.request.error) std::rethrow_exception(work.request.error);
    summary_.tokens += work.run->tokens().completion;
    return response_record_json(work.head, 200, work.run->json());
  } catch (const Error& error) {
    count_error(work.head, error.what());
    return of_.settings.openai ? response_record_json(work.head, 400, error_json(error))
                               : error_record_json(work.head, error.what());
  }
}

std::string BatchRun::record_of(const Work& work, const CompletionChoice& choice) {
  try {
    if (choice.error) std::rethrow_exception(choice.error);
    summary_.tokens += choice.result.tokens.size();
    return record_json(work.head, of_.tokenizer, work.run->request(), choice);
  } catch (const Error& error) {
    count_error(work.head, error.what());
    return error_record_json(work.head, error.what());
  }
}

void BatchRun::count_error(const RecordHead& head, const std::string& error) {
  ++summary_.errors;
  if (summary_.first_error.empty()) summary_.first_error = about_line(head.line + 1, error);
}

void BatchRun::show(Progress& progress) {
  const auto now = std::chrono::steady_clock::now();
  if (now - shown_ < std::chrono::milliseconds(200)) return;
  shown_ = now;
  const double seconds = seconds_since(start_);
  const double speed = static_cast<double>(summary_.tokens) / seconds;
  const std::size_t bytes = of_.input.bytes();
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

BatchSummary run_batch(const BatchContext& of) { return BatchRun(of).run(); }

}  // namespace gpt2::cli
