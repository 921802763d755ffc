#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "base/hash.h"
#include "base/text.h"
#include "cli/batch/batch.h"
#include "cli/system/system.h"
#include "cli/terminal/console.h"
#include "gpt2/generation_config.h"
#include "gpt2/runtime.h"
#include "gpt2/scheduler.h"
#include "requests/answer/completion.h"
#include "requests/answer/own_form.h"

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

// The state of run_batch().
class BatchRun {
 public:
  explicit BatchRun(const BatchContext& of) : of_(of) {}

  BatchSummary run();

 private:
  // A line that is being answered, or that waits to be scored, or that is complete and waits until
  // the lines before it are.
  struct Work {
    RecordHead head;  // of the next record
    BatchRequest request;
    bool is_done;                               // whether only records are left to be written
    std::unique_ptr<Run> run = {};              // unless the line is scored or invalid
    std::deque<CompletionChoice> choices = {};  // that have no records yet, in order
    Json scores = {};                           // if the line is scored

    // The number of texts that count as being in memory.
    [[nodiscard]] std::size_t texts() const;
  };

  void write_all(Progress& progress);
  void choose_format(const std::string& line);
  bool begin_line();
  void begin_run(Work& work);
  [[noreturn]] void refuse_records() const;
  [[nodiscard]] bool has_room() const;
  static void advance(Work& work);
  void score_some();
  void write_finished();
  [[nodiscard]] bool write_records(Work& work);
  void write(const std::string& record);
  [[nodiscard]] Json members_of(const Work& work, const CompletionChoice& choice);
  [[nodiscard]] Json answer_of(Work& work);
  [[nodiscard]] std::string record_of(const RecordHead& head, const std::function<Json()>& answer);
  void show(Progress& progress);

  const BatchContext& of_;
  LineReader lines_{of_.input.descriptor(), of_.input.name(), kMaxLineBytes};
  bool is_plain_ = false;  // whether each line is a prompt as plain text
  RecordReader records_{of_.output.descriptor(), of_.output.name()};  // that OUT already has
  std::size_t line_ = 0;                                              // the number of the next line
  Scheduler scheduler_{of_.engine, scheduler_options(of_)};
  std::deque<Work> work_;
  BatchSummary summary_;
  std::size_t first_offset_ = 0;  // the offset in the input at which this run began to write
  std::chrono::steady_clock::time_point shown_ = std::chrono::steady_clock::now();
};

BatchSummary BatchRun::run() {
  Progress progress("writing " + of_.output.name());
  try {
    write_all(progress);
  } catch (const Cancelled&) {  // by an interrupt
  }
  if (!interrupted() && !records_.at_end()) {
    reject(of_.output.name(), " has records of lines that ", of_.input.name(),
           " does not have: give another -o, or remove ", of_.output.name());
  }
  of_.output.sync();
  summary_.errors += records_.errors();
  return summary_;
}

void BatchRun::write_all(Progress& progress) {
  bool has_more = true;
  while (!interrupted()) {
    // Waits for a pipe only if there is no text to write.
    const auto may_read = [&] { return work_.empty() || lines_.is_ready(); };
    while (has_more && has_room() && may_read()) has_more = begin_line();
    if (work_.empty()) break;
    score_some();
    scheduler_.step();
    for (Work& work : work_) advance(work);
    write_finished();
    of_.output.sync_sometimes();
    show(progress);
  }
}

std::size_t BatchRun::Work::texts() const {
  if (request.error || std::holds_alternative<ScoringRequest>(request.read)) return 1;
  const auto* const completion = std::get_if<CompletionRequest>(&request.read);
  if (completion == nullptr) return kWindow;  // its passes are shared with no other line
  return std::min(completion->best_of * completion->prompts.size() - head.sample, kWindow);
}

bool BatchRun::has_room() const {
  std::size_t texts = 0;
  for (const Work& work : work_) texts += work.texts();
  return texts < kWindow;
}

// Decides by the first line and the options what the lines are.
void BatchRun::choose_format(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(" \t\r");
  const bool is_prompt = begin != std::string::npos && line[begin] != '{';
  is_plain_ = of_.settings.lines || (!of_.settings.openai && is_prompt);
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
  if (written != 0) first_offset_ = lines_.offset();
  if (!records_.at_end()) {
    ++summary_.lines;
    return true;
  }
  BatchRequest request = read_request(line, is_plain_, of_);
  head.custom_id = request.custom_id;
  head.sample = written;
  if (!request.error && request.has_records()) {
    head.samples = std::get<CompletionRequest>(request.read).n;
  } else {
    head.lost_bytes = std::visit([](const auto& read) { return read.lost_bytes; }, request.read);
  }
  if (head.sample >= head.samples) {
    ++summary_.lines;
    return true;
  }
  const bool is_done = request.error != nullptr;
  work_.push_back({head, std::move(request), is_done});
  begin_run(work_.back());
  return true;
}

void BatchRun::begin_run(Work& work) {
  BatchRequest& request = work.request;
  if (work.is_done || std::holds_alternative<ScoringRequest>(request.read)) return;
  RunEvents events;
  if (auto* const completion = std::get_if<CompletionRequest>(&request.read)) {
    const std::size_t stride =
        request.has_records() ? of_.settings.samples : GenerationConfig::kMaxSamples;
    completion->options.sampling.sequence = work.head.line * stride;
    completion->first = work.head.sample;
  } else {
    events.goes_on = [] { return !interrupted(); };
  }
  if (request.has_records()) {
    events.on_choice = [&work](CompletionChoice choice) {
      work.choices.push_back(std::move(choice));
    };
  }
  // In our own format, the record has an id of its own.
  const AnswerHead head = {.id = request.kind->id_prefix + work.head.id,
                           .shows_id = of_.settings.openai,
                           .model = of_.settings.model.name};
  work.run = make_run(*request.kind, request.read, {of_.engine, scheduler_, of_.tokenizer, head},
                      std::move(events));
  advance(work);
}

void BatchRun::advance(Work& work) {
  if (work.is_done || !work.run) return;
  try {
    work.is_done = !work.run->advance();
  } catch (const Error&) {
    work.request.error = std::current_exception();
    work.is_done = true;
  }
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
  std::vector<ScoringRequest> requests;
  std::size_t tokens = 0;
  for (Work& work : work_) {
    auto* const scoring = std::get_if<ScoringRequest>(&work.request.read);
    if (work.is_done || scoring == nullptr || tokens >= kScoredTokens) continue;
    if (!requests.empty() && !scoring->has_same_options(requests.front())) continue;
    tokens += scoring->tokens();
    group.push_back(&work);
    requests.push_back(std::move(*scoring));
  }
  if (requests.empty()) return;
  std::vector<Json> scores = score_lines(of_.engine, of_.tokenizer, requests, [](double) {
    if (interrupted()) throw Cancelled();
  });
  for (std::size_t i = 0; i < scores.size(); ++i) {
    group[i]->scores = std::move(scores[i]);
    group[i]->is_done = true;
  }
  summary_.tokens += tokens;
}

// Appends all records that are complete, up to the first one that is not.
void BatchRun::write_finished() {
  for (; !work_.empty() && write_records(work_.front()); work_.pop_front()) ++summary_.lines;
}

// Returns whether the line has all its records now.
bool BatchRun::write_records(Work& work) {
  for (; !work.choices.empty(); work.choices.pop_front(), ++work.head.sample) {
    write(record_of(work.head, [&] { return members_of(work, work.choices.front()); }));
  }
  const bool has_records = work.request.has_records() && !work.request.error;
  if (work.is_done && !has_records) write(record_of(work.head, [&] { return answer_of(work); }));
  return work.is_done;
}

void BatchRun::write(const std::string& record) {
  if (summary_.written == 0) of_.output.cut(records_.offset());
  of_.output.append(record);
  ++summary_.written;
}

// Returns the members of the record of a text, or throws the error with which it ended.
Json BatchRun::members_of(const Work& work, const CompletionChoice& choice) {
  if (choice.error) std::rethrow_exception(choice.error);
  summary_.tokens += choice.result.tokens.size();
  Json members = Json::object();
  add_completion(members, std::get<CompletionRequest>(work.request.read), of_.tokenizer, choice);
  return members;
}

// The same for the answer to a line that is done.
Json BatchRun::answer_of(Work& work) {
  if (work.request.error) std::rethrow_exception(work.request.error);
  if (!work.run) return std::move(work.scores);
  const bool writes = std::holds_alternative<CompletionRequest>(work.request.read);
  const RunTokens tokens = work.run->tokens();
  summary_.tokens += writes ? tokens.completion : tokens.prompt;
  return work.run->json();
}

// Only an Error becomes a record, because it is caused by the line and would occur again in another
// run.
std::string BatchRun::record_of(const RecordHead& head, const std::function<Json()>& answer) {
  const bool openai = of_.settings.openai;
  try {
    return openai ? response_record_json(head, 200, answer()) : answer_record_json(head, answer());
  } catch (const Error& error) {
    ++summary_.errors;
    return openai ? response_record_json(head, 400, error_json(error))
                  : error_record_json(head, error.what());
  }
}

void BatchRun::show(Progress& progress) {
  const auto now = std::chrono::steady_clock::now();
  if (now - shown_ < std::chrono::milliseconds(200)) return;
  shown_ = now;
  const std::size_t bytes = of_.input.bytes();
  show_place(progress, summary_.lines, lines_.offset() - first_offset_,
             bytes > first_offset_ ? bytes - first_offset_ : 0);
}

}  // namespace

BatchSummary run_batch(const BatchContext& of) { return BatchRun(of).run(); }

}  // namespace gpt2::cli
