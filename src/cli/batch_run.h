#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <future>
#include <optional>
#include <string>

#include "cli/batch_input.h"
#include "cli/batch_output.h"
#include "cli/console.h"
#include "cli/text_json.h"
#include "gpt2/scheduler.h"

namespace gpt2::cli {

/// The results of a run.
struct BatchSummary {
  std::size_t lines = 0;    ///< the lines of this share for which OUT has records
  std::size_t written = 0;  ///< records that this run wrote
  std::size_t errors = 0;   ///< records with errors, including those that OUT had before
  std::size_t tokens = 0;   ///< tokens that this run wrote or scored
};

/// A run of `gpt2 batch`: reads lines, lets a scheduler write their texts side by side, scores the
/// lines that are to be scored, and appends the records in order. However many lines there are, at
/// most kWindow texts are in memory.
class BatchRun {
 public:
  static constexpr std::size_t kWindow = 256;

  /// `hash` identifies the model. The references must outlive the run.
  BatchRun(const Engine& engine, const std::optional<Model>& draft,
           const std::optional<Tokenizer>& tokenizer, const BatchSettings& settings,
           std::uint64_t hash, const InputFile& input, OutputFile& output);

  /// Runs until all lines have their records, or interrupted() becomes true. Throws Error if OUT
  /// has records that do not belong to the lines, and if reading or writing fails.
  void run();

  [[nodiscard]] const BatchSummary& summary() const noexcept { return summary_; }

 private:
  // A text that is being written or waits to be scored, or that is complete and waits until the
  // texts before it are.
  struct Text {
    RecordHead head;
    std::size_t offset;  // the offset of the end of its line
    std::optional<ScoreRequest> scoring = {};
    std::optional<Json> scores = {};
    std::string text = {};
    std::future<GenerationResult> result = {};
    std::optional<std::string> error = {};
    std::uint64_t sequence = 0;
  };

  bool begin_text();
  bool begin_line();
  [[nodiscard]] bool has_texts() const noexcept { return head_.sample < head_.samples; }
  void submit(Text& text);
  void score_some();
  [[nodiscard]] static bool is_complete(const Text& text);
  void write_finished();
  [[nodiscard]] std::string record_of(Text& text);
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
  RecordReader records_;              // the records that OUT already has
  std::size_t line_ = 0;              // the number of the next line
  BatchRequest request_;              // the request of the line before it
  RecordHead head_ = {.samples = 0};  // the head of the next text of that line
  std::deque<Text> texts_;
  Scheduler scheduler_;
  BatchSummary summary_;
  std::size_t first_offset_ = 0;  // the offset in the input at which this run began to write
  std::size_t offset_ = 0;        // the offset in the input up to which there are records
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point shown_ = start_;
};

}  // namespace gpt2::cli
