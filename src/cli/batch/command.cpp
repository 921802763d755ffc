#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/hash.h"
#include "base/seconds_since.h"
#include "base/text.h"
#include "cli/batch/batch.h"
#include "cli/commands.h"
#include "cli/lines.h"
#include "cli/model.h"
#include "cli/options/request_options.h"
#include "cli/system/system.h"
#include "cli/terminal/console.h"

namespace gpt2::cli {
namespace {

// The exit status of a complete run in which some lines have errors. It differs from 1, so that a
// script that restarts failed runs does not loop forever.
constexpr int kLinesWithErrors = 3;

void print_summary(const BatchSummary& summary, const OutputFile& output, bool openai,
                   double seconds) {
  print_error(
      counted(summary.lines, "line") + ", " + counted(summary.errors, "error") +
      "; this run: " + counted(summary.tokens, "token") +
      format(" in %.1f s, %.1f tokens/s", seconds, static_cast<double>(summary.tokens) / seconds));
  if (summary.errors == 0) return;
  print_error(concat("see ", openai ? "\"response\"" : "\"error\"", " in ", output.name()));
}

}  // namespace

int batch(const Arguments& arguments) {
  const BatchSettings settings = read_batch_settings(arguments);
  const auto start = std::chrono::steady_clock::now();
  const InputFile input(settings.input);
  const Shard& shard = settings.shard;
  const std::string name =
      shard.is_share() ? shard_file(settings.output, shard.index, shard.count) : settings.output;
  const auto [model, draft] = load_models(settings.model);
  std::optional<Tokenizer> tokenizer;
  if (!settings.tokens) {
    tokenizer = find_tokenizer(settings.model);
    if (tokenizer) tokenizer->require_match(model.config());
  }

  if (shard.is_share()) {
    print_error(concat("share ", shard.index, " of ", shard.count, " (", shard.source,
                       "): writing ", name));
  }
  OutputFile output(name);
  const Engine engine(model, settings.model.engine);
  const ChatForm chat = chat_form_of(settings.model.places.config);
  const std::uint64_t hash =
      hash_bytes(std::to_string(settings.hash), hash_of_model(engine, tokenizer));
  const BatchContext context = {engine, draft, tokenizer, settings, chat, hash, input, output};
  // A request with the defaults alone, so that a wrong one is refused now.
  const nlohmann::json request = {{"prompt", {0}}};
  read_arguments(settings.defaults,
                 [&] { return run_kind("generate").read(request, context.requests()); });
  note_interrupts();
  const BatchSummary summary = run_batch(context);
  if (interrupted()) {
    print_error("stopped after " + counted(summary.lines, "line") + "; the same command resumes");
    return 1;
  }
  print_summary(summary, output, settings.openai, seconds_since(start));
  // A share returns 0 even if lines have errors: a launcher treats any other status as a failure
  // and may end the other shares.
  return summary.errors == 0 || shard.is_share() ? 0 : kLinesWithErrors;
}

}  // namespace gpt2::cli
