#include <exception>
#include <map>
#include <new>
#include <string>
#include <utility>

#include "cli/commands.h"
#include "cli/system/system.h"
#include "cli/terminal/console.h"
#include "gpt2/version.h"

namespace gpt2::cli {
namespace {

// At most 23 lines, so that it fits a terminal of 24 lines.
constexpr const char* kHelp =
    R"(gpt2: continues a text with a GPT-2 model, exactly as HuggingFace computes it

Usage: gpt2 [COMMAND] [OPTIONS] [TEXT]

Commands:
  generate   continue a text (the default: gpt2 TEXT), or talk with -i
  batch      continue or score every line of a file; resumes an interrupted run
  tokenize   turn a text into token ids, or back
  download   fetch a model from the HuggingFace hub
  info       show a model's files, config, size, memory use and tokenizer
  inspect    show what a model computes for a text, as a page or as JSON
  score      measure how well a model predicts a text, or rate continuations
  embed      turn texts into vectors
  serve      answer OpenAI's API over HTTP
  quantize   quantize a model's weights to 8 or 4 bits
  bench      measure the speed, compared with the limits of this machine

  gpt2 COMMAND --help  shows the options of a command
  gpt2 help more       explains models, environment variables and exit statuses
  gpt2 --version, -V   shows the version

Examples:
  gpt2 download gpt2 && gpt2 -m gpt2 --greedy "The flying machine"
)";

constexpr const char* kMoreHelp =
    R"(A model is a directory with a HuggingFace checkpoint, a file in it, or a name
such as openai-community/gpt2, which gpt2 looks for in the directory models, in
its own installation, in $GPT2_MODELS and in the HuggingFace cache. Without -m,
gpt2 uses the bundled model, which writes stories for children.

Environment variables:
  GPT2_MODELS              another directory in which to look for models by name
  HF_HUB_CACHE or HF_HOME  the HuggingFace cache, if not ~/.cache/huggingface
  HF_TOKEN, HF_ENDPOINT    for gpt2 download: the access token; another hub
  GPT2_ISA                 the instruction set to use; gpt2 info lists those of
                           this machine
  GPT2_TUNE=off            do not look for the fastest order to read weights in

Exit status:
  0    success
  1    an error, for example a file that cannot be read, or a line that score or
       embed cannot answer
  2    invalid arguments; also options that this model does not allow, such as
       --layer 99
  3    batch is complete, but some lines have errors
  130  ended by Ctrl-C (by the signal SIGINT), after writing what there was
)";

const std::map<std::string, int (*)(const Arguments&)> kCommands = {
    {"generate", generate}, {"batch", batch},     {"tokenize", tokenize}, {"info", info},
    {"download", download}, {"inspect", inspect}, {"quantize", quantize}, {"score", score},
    {"embed", embed},       {"serve", serve},     {"bench", bench}};

int run(Arguments arguments) {
  if (arguments == Arguments{"help", "more"}) {
    write_stdout(kMoreHelp);
    return 0;
  }
  const std::string first = arguments.empty() ? "" : arguments.front();
  if (first == "help") {  // gpt2 help [COMMAND]
    arguments.erase(arguments.begin());
    arguments.push_back("--help");
    return run(std::move(arguments));
  }
  if (first == "-h" || first == "--help") {
    write_stdout(kHelp);
    return 0;
  }
  if (first == "-V" || first == "--version") {
    write_stdout("gpt2 " GPT2_VERSION_STRING "\n");
    return 0;
  }

  const bool is_command = kCommands.contains(first);
  const std::string name = is_command ? first : "generate";
  try {
    if (is_command) arguments.erase(arguments.begin());
    return kCommands.at(name)(arguments);
  } catch (const HelpPrinted&) {
    return 0;
  } catch (const UsageError& error) {
    throw UsageError(error.what() + ("; see 'gpt2 " + name + " --help'"));
  }
}

}  // namespace
}  // namespace gpt2::cli

int main(int argc, char* argv[]) {
  using namespace gpt2::cli;
  prepare_streams();
  try {
    const int status = run(Arguments(argv + (argc > 0), argv + argc));
    end_if_interrupted();
    return status;
  } catch (const UsageError& error) {
    print_error(error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    print_error("out of memory");
  } catch (const std::exception& error) {
    print_error(error.what());
  }
  end_if_interrupted();
  return 1;
}
