#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string_view>

#include "cli/commands.h"
#include "cli/console.h"
#include "gpt2/error.h"

namespace gpt2::cli {
namespace {

constexpr std::string_view kHelp =
    R"(gpt2: continues a text with a GPT-2, exactly as HuggingFace would

Usage: gpt2 [COMMAND] [OPTIONS] [TEXT]

Commands:
  generate   continue a text (the default: gpt2 TEXT is gpt2 generate TEXT)
  tokenize   turn a text into token ids, or back
  info       tell what a model is made of
  quantize   pack a model's weights into 8 or 4 bits
  bench      measure how fast it is here, beside the machine's limits

  gpt2 COMMAND --help tells the options of each
  gpt2 --version

Examples:
  gpt2 "Once upon a time"
  gpt2 -m ~/models/gpt2-medium --greedy "The flying machine"
  gpt2 tokenize "Hello world"
  gpt2 info -m openai-community/gpt2

Exit status: 0; 1 for an error; 2 where the arguments make no sense; 130 after Ctrl-C.
)";

int run(Arguments arguments) {
  const std::string first = arguments.empty() ? "" : arguments.front();
  if (first == "-h" || first == "--help") return write_stdout(kHelp), 0;
  if (first == "--version") return write_stdout("gpt2 " GPT2_VERSION "\n"), 0;

  int (*command)(Arguments) = nullptr;
  if (first == "generate") command = generate;
  if (first == "tokenize") command = tokenize;
  if (first == "info") command = info;
  if (first == "quantize") command = quantize;
  if (first == "bench") command = bench;
  if (command == nullptr) return generate(std::move(arguments));
  arguments.erase(arguments.begin());
  return command(std::move(arguments));
}

}  // namespace
}  // namespace gpt2::cli

int main(int argc, char* argv[]) {
  using namespace gpt2::cli;
  // A closed pipe and a file that may grow no further are then errors of the write.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  try {
    return run(Arguments(argv + (argc > 0), argv + argc));
  } catch (const UsageError& error) {
    print_error(error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    print_error("out of memory");
  } catch (const std::exception& error) {
    print_error(error.what());
  }
  return 1;
}
