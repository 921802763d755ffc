#include <csignal>
#include <exception>
#include <map>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/console.h"
#include "gpt2/version.h"

namespace gpt2::cli {
namespace {

constexpr const char* kHelp =
    R"(gpt2: continues a text with a GPT-2 model, with the same probabilities as HuggingFace

Usage: gpt2 [COMMAND] [OPTIONS] [TEXT]

Commands:
  generate   continue a text (the default: gpt2 TEXT means gpt2 generate TEXT)
  batch      continue every prompt of a file, and go on there if the run was ended
  tokenize   turn a text into token ids, or back
  info       show a model's files, config, size, memory use and tokenizer
  score      tell how well a model predicts a text, or which continuation it prefers
  embed      turn texts into vectors
  quantize   quantize a model's weights to 8 or 4 bits
  bench      measure how fast the engine is, compared with this machine's limits

  gpt2 COMMAND --help shows the options of a command
  gpt2 --version, -V  shows the version

Examples:
  gpt2 "Once upon a time"
  gpt2 -m ~/models/gpt2-medium --greedy "The flying machine"
  gpt2 -i
  gpt2 batch prompts.jsonl -o texts.jsonl
  gpt2 tokenize "Hello world"
  gpt2 info -m openai-community/gpt2

Environment variables:
  GPT2_MODELS              one more directory in which to look for a model by name
  HF_HUB_CACHE or HF_HOME  where the HuggingFace cache is, if not in ~/.cache/huggingface
  GPT2_ISA                 the instruction set to use; gpt2 info lists those that this machine has

Exit status: 0 for success, 1 for an error, 2 for invalid arguments. Ctrl-C stops the text where it
is and then ends gpt2 by that signal, which shells report as 130.
)";

const std::map<std::string, int (*)(Arguments)> kCommands = {
    {"generate", [](Arguments arguments) { return generate(std::move(arguments)); }},
    {"batch", batch},
    {"tokenize", tokenize},
    {"info", info},
    {"quantize", quantize},
    {"score", score},
    {"embed", embed},
    {"bench", bench}};

// Detects a misspelt command. A prompt of several words must be quoted, so a single lower-case word
// that resembles a command and stands before other arguments was almost certainly meant as a
// command: throws UsageError. A word that stands alone or after options may well be a prompt
// (`may_be_prompt`): only prints a hint.
void check_misspelt(const std::string& word, bool may_be_prompt) {
  if (word.find_first_not_of("abcdefghijklmnopqrstuvwxyz") != std::string::npos) return;
  std::vector<std::string> names;
  for (const auto& [name, run] : kCommands) names.push_back(name);
  const std::string name = nearest(word, names);
  if (name.empty()) return;
  if (may_be_prompt) {
    print_error("'" + word + "' is taken as a prompt; did you mean the command 'gpt2 " + name +
                "'?");
    return;
  }
  throw UsageError("no command '" + word + "' (did you mean 'gpt2 " + name +
                   "'?); if it is a prompt, write: gpt2 generate \"" + word + " ...\"");
}

int run(Arguments arguments) {
  if (arguments.size() == 2 && arguments[0] == "help" && kCommands.contains(arguments[1])) {
    arguments = {arguments[1], "--help"};
  }
  const std::string first = arguments.empty() ? "" : arguments.front();
  if (first == "-h" || first == "--help" || first == "help") {
    write_stdout(kHelp);
    return 0;
  }
  if (first == "-V" || first == "--version") {
    write_stdout("gpt2 " GPT2_VERSION_STRING "\n");
    return 0;
  }

  const bool is_command = kCommands.contains(first);
  if (!is_command && arguments.size() > 1) check_misspelt(first, false);
  const std::string name = is_command ? first : "generate";
  try {
    const auto check = [](const std::string& prompt) { check_misspelt(prompt, true); };
    if (!is_command) return generate(std::move(arguments), check);
    arguments.erase(arguments.begin());
    return kCommands.at(name)(std::move(arguments));
  } catch (const CLI::Success&) {
    return 0;  // the command has printed its help
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what() + ("; see 'gpt2 " + name + " --help'"));
  }
}

}  // namespace
}  // namespace gpt2::cli

int main(int argc, char* argv[]) {
  using namespace gpt2::cli;
  // If these signals are ignored, a write that would raise them fails instead, so that the error
  // message can name the file.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  try {
    const int status = run(Arguments(argv + (argc > 0), argv + argc));
    end_if_interrupted();
    return status;
  } catch (const CLI::ParseError& error) {
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
