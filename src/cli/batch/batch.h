#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_text.h"
#include "cli/lines.h"
#include "cli/model.h"
#include "cli/options/options.h"
#include "gpt2/engine.h"
#include "requests/read/completion_request.h"
#include "requests/run/run.h"

namespace gpt2::cli {

/// The share of the lines that a process takes: those whose number modulo `count` is `index`. The
/// record of a line does not depend on the share that it is in.
struct Shard {
  std::size_t index = 0;
  std::size_t count = 1;
  std::string source = {};  ///< the origin of the share: "--shard", or environment variables

  /// Whether the process takes a share at all. --shard 0/1 is a share, too.
  [[nodiscard]] bool is_share() const noexcept { return !source.empty(); }
  [[nodiscard]] bool takes(std::size_t line) const noexcept { return line % count == index; }
};

struct BatchSettings {
  std::string input;    ///< "-": standard input
  std::string output;   ///< as given; each share is written to its own file
  bool lines = false;   ///< whether each line is a prompt as plain text, whatever the first one is
  bool openai = false;  ///< whether OUT has answers in OpenAI's format
  bool tokens = false;  ///< prompts and texts are token ids
  Shard shard;
  ModelSettings model;

  /// What a line does not set, in the names of the table, but for the number of texts.
  nlohmann::json defaults = nlohmann::json::object();
  std::size_t samples = 1;  ///< how many records a prompt has, unless OUT has OpenAI's format

  /// A hash of all of these that affect the output.
  std::uint64_t hash = 0;
};

/// Reads the arguments of `gpt2 batch`, and the environment variables of process launchers that
/// determine the share. Throws what Options::parse(), find_model() and choose_shard() throw.
[[nodiscard]] BatchSettings read_batch_settings(const Arguments& arguments);

/// The members at the beginning of the record that `gpt2 batch` writes for a text.
struct RecordHead {
  std::size_t line = 0;  ///< the number of the line in the input, from 0
  std::string id = {};   ///< identifies the line and everything else that decides the text
  std::optional<std::string> custom_id = {};
  std::size_t sample = 0;      ///< which of the line's texts this is
  std::size_t samples = 1;     ///< how many texts the line has
  std::size_t lost_bytes = 0;  ///< bytes of the line's texts for which there are no tokens
};

/// Returns the record of a text or of the answer to a line, with its newline: the members of the
/// answer but for its "id" or, if it is a JSON string, this as the "page".
[[nodiscard]] std::string answer_record_json(const RecordHead& head, const Json& answer);

/// Returns the record of a line in OpenAI's format, with its newline: the answer to its request.
[[nodiscard]] std::string response_record_json(const RecordHead& head, int status,
                                               const Json& body);

/// Returns the record of a text that could not be written, with its newline.
[[nodiscard]] std::string error_record_json(const RecordHead& head, const std::string& error);

/// The file to which records are appended. While it is open, no other process can open it as an
/// OutputFile.
class OutputFile {
 public:
  /// Opens or creates the file, through symbolic links as NewFile does. Throws Error if that fails,
  /// if it is not a regular file, or if another process is writing it.
  explicit OutputFile(const std::string& name);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return file_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// Truncates the file to `bytes`. Further records are appended there.
  void cut(std::size_t bytes);

  /// If that fails, for example because the disk is full, removes the part that was written and
  /// throws Error.
  void append(std::string_view record);

  /// Waits until all records are on the disk. Throws Error if the system says that it has lost
  /// some.
  void sync();

  /// Calls sync() if there are new records, but at most once a second.
  void sync_sometimes();

 private:
  std::string name_;  // for messages
  int file_;
  std::size_t bytes_ = 0;  // the size of the file
  std::size_t synced_ = 0;
  std::chrono::steady_clock::time_point last_sync_ = std::chrono::steady_clock::now();
};

/// Reads the records of a file, in order, up to the first one that is not a whole line.
class RecordReader {
 public:
  RecordReader(int file, const std::string& name);

  /// Skips the records of this line that come next, and returns their number.
  std::size_t skip(std::size_t line, const std::string& id);

  /// The next record, or only its first bytes if it is long; "" if there is none.
  [[nodiscard]] const std::string& next() const noexcept { return line_.text; }
  [[nodiscard]] bool at_end() const noexcept { return !line_.is_whole; }

  /// The bytes of the records before the next one.
  [[nodiscard]] std::size_t offset() const noexcept { return offset_; }

  /// How many of the skipped records report an error.
  [[nodiscard]] std::size_t errors() const noexcept { return errors_; }

 private:
  void advance();

  LineReader reader_;
  std::string name_;
  Line line_;
  std::size_t offset_ = 0;
  std::size_t errors_ = 0;
};

struct BatchContext {
  const Engine& engine;
  const std::optional<Model>& draft;
  const std::optional<Tokenizer>& tokenizer;
  const BatchSettings& settings;
  ChatForm chat;
  std::uint64_t hash;  ///< identifies the options and the model
  const InputFile& input;
  OutputFile& output;

  [[nodiscard]] RequestContext requests() const {
    RequestContext context = {tokenizer, engine.model().config(), settings.defaults};
    context.chat = chat;
    return context;
  }
};

/// The contents of a line of the input.
struct BatchRequest {
  const RunKind* kind;
  Request read = {};
  std::optional<std::string> custom_id = {};
  std::exception_ptr error = {};  ///< an Error if the line is invalid

  /// Whether each text has a record of its own.
  [[nodiscard]] bool has_records() const { return kind->name == "generate"; }
};

/// Reads a line: if `is_plain`, the line is the prompt; otherwise, it is a JSON object, which is a
/// request, or one in OpenAI's batch format. An invalid line becomes a request with an error.
[[nodiscard]] BatchRequest read_request(const Line& line, bool is_plain, const BatchContext& of);

struct BatchSummary {
  std::size_t lines = 0;    ///< the lines of this share for which OUT has records
  std::size_t written = 0;  ///< records that this run wrote
  std::size_t errors = 0;   ///< records with errors, including those that OUT had before
  std::size_t tokens = 0;   ///< tokens that this run wrote or scored
};

/// Answers the lines and appends their records in order, until all lines have records or
/// interrupted() becomes true. At most 256 texts are in memory. Throws Error if OUT has records
/// that do not belong to the lines, and if reading or writing fails.
[[nodiscard]] BatchSummary run_batch(const BatchContext& of);

/// The file to which a share of `output` is written: "OUT.1-of-3".
[[nodiscard]] std::string shard_file(const std::string& output, std::size_t index,
                                     std::size_t count);

/// Returns the share that `argument` gives: "I/N", "/N" (a launcher gives I), or "all". Without an
/// argument, the share that a launcher gives: mpirun, srun or an indexed job of Kubernetes, which
/// needs /N. A process that a launcher has started alone takes all lines. Throws UsageError if the
/// argument is anything else, or if no index below the number of shares is given.
[[nodiscard]] Shard choose_shard(const std::optional<std::string>& argument);

}  // namespace gpt2::cli
