#include <string>

#include "base/fail.h"
#include "cli/commands.h"
#include "cli/download_script.h"
#include "cli/system/system.h"

namespace gpt2::cli {
namespace {

constexpr const char* kDownloadDetails =
    R"(Fetches the files that gpt2 reads (config, weights, tokenizer; of an adapter, also
its base), checks each against the hash that the hub reports, and prints their
directory. After an interruption, the same command goes on where it was. It
needs bash and curl.

Without DIRECTORY, the files are in the HuggingFace cache (HF_HUB_CACHE, HF_HOME),
where gpt2 -m NAME and HuggingFace's libraries find them. HF_TOKEN is the access
token for gated and private models, and HF_ENDPOINT another hub.

Examples:
  gpt2 download gpt2 && gpt2 -m gpt2 "The flying machine"
  gpt2 download distilbert/distilgpt2@main models/distilgpt2)";

}  // namespace

int download(const Arguments& arguments) {
  std::string name;
  std::string directory;
  Options options("gpt2 download", "Downloads a model from the HuggingFace hub", kDownloadDetails);
  options.add_text("NAME", "", name, "OWNER/NAME or NAME, and @REVISION if it is not main")
      .is_required = true;
  options.add_text("DIRECTORY", "", directory, "Where to (default: the HuggingFace cache)");
  options.parse(arguments);

  std::string script;
  for (const std::string_view piece : kDownloadScript) script += piece;
  become({"bash", "-c", script, "gpt2", name, directory});
  fail(ErrorCode::unsupported, "gpt2 download", "needs bash, which cannot be started");
}

}  // namespace gpt2::cli
